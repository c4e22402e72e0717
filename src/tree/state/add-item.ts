import { Json, type ObjectContext, type RunId } from "#kernel";
import { Ledger, type Slot } from "#ledger";
import type { InboxBatch } from "../protocol.ts";
import { inboxOf, keepDelivered } from "./inbox.ts";
import type { InboxRecord, RunRecord, StoredItem, TreeRecord } from "./records.ts";

/*
 * Adds an item to the inbox of a run, and wakes the run.
 *
 * 1. A wake-up is named after the items that the run has. One without a value makes the run call its tree and take all.
 * 2. News of other runs go with the wake-up itself, so a run that waits for several makes no call for each. Such an item stays in
 *    the inbox until the run says that it has it: an execution that goes on elsewhere, or is lost, misses nothing.
 * 3. A run that is told so stays waiting. It asks for its slot, by `take`, if its code goes on.
 */

/** Kinds of items that a wake-up can bring. No person and no agent is their author: none of them is ever left unread. */
const carriedKinds: ReadonlySet<StoredItem["kind"]> = new Set([
  "ended",
  "reply",
  "childPaused",
  "childResumed",
]);

/** A longer item is taken: what a wake-up brings is in the inbox, too, until the next call. */
const maxCarriedCharacters = 4_096;

/** As many items can wait until the run says that it has them. With the next it is woken to take all: its call stays small. */
const maxDelivered = 32;

/** As many runs may be told something and not call: the record of the tree, which almost every call writes, names them. */
const maxSilent = 32;

/** The circumstances of a run when an item comes for it. */
export interface Circumstances {
  readonly object: ObjectContext;
  readonly now: number;
  /** Read only if a wake-up may bring the item: it may have to be loaded. */
  readonly slot: () => Slot | undefined;
  readonly tree: TreeRecord;
}

/** Adds an item. `isDelivered`: the wake-up carries it, in an {@link InboxBatch}. */
export function addItem(
  { object, now, slot, tree }: Circumstances,
  { id, run }: { readonly id: RunId; readonly run: RunRecord },
  item: StoredItem,
): { readonly inbox: InboxRecord; readonly isDelivered: boolean } {
  const { inbox: before, execution } = run;
  const cursor = before.taken + before.delivered;
  const isNext = !before.woken && before.items.length === 0 && before.delivered < maxDelivered;
  // Hooks get their events with the reply to a call.
  const canHear = run.wakesWithItems && run.undeliveredEvents === null && mayTell(tree, id);
  const held = canHear && isNext && isCarried(item) ? slot() : undefined;
  if (held && execution !== null) {
    const news = { items: [item], cursor: cursor + 1, more: false, slotState: toSlotState(held), at: now };
    object.wake(execution, wakeName(cursor), Json.of(news));
    return { inbox: keepDelivered(object, id, before, item), isDelivered: true };
  }
  const inbox = inboxOf(object, id, before).push(item);
  if (before.woken || execution === null) return { inbox, isDelivered: false };
  object.wake(execution, wakeName(cursor));
  return { inbox: { ...inbox, woken: true }, isDelivered: false };
}

/**
 * Whether a wake-up may tell a run something, so that the run need not call. While runs stand in line for a slot the ledger
 * must know at any time for whom each run waits.
 */
function mayTell(tree: TreeRecord, id: RunId): boolean {
  const { silent = [] } = tree;
  return !Ledger.hasLine(tree.ledger.headcount) && (silent.includes(id) || silent.length < maxSilent);
}

/** The name of the wake-up for the first item that a run does not have. */
const wakeName = (cursor: number): string => `inbox/${cursor}`;

function isCarried(item: StoredItem): boolean {
  return carriedKinds.has(item.kind) && JSON.stringify(item).length <= maxCarriedCharacters;
}

/** Whether a run may start something, must yield first, or has no slot. */
export function toSlotState({ phase, held }: Slot): InboxBatch["slotState"] {
  if (phase === "yielding" || phase === "parked") return phase;
  return held ? "parked" : "running";
}
