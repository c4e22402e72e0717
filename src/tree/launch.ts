import { Json, type RunId } from "#kernel";
import { protocolNumber } from "./protocol-number.ts";
import { toSlotState } from "./state/add-item.ts";
import { addSizes } from "./state/backlogs.ts";
import { inboxOf, sizeOfSent } from "./state/inbox.ts";
import type { LaunchInput, InboxBatch } from "./protocol.ts";
import type { CarriedState, InboxItem, InboxRecord, RunRecord } from "./state/records.ts";
import { readTopics } from "./state/topics.ts";
import type { TreeWork } from "./state/tree-work.ts";

const first = { state: null, carried: null };

/**
 * Launches an execution of a run, with the run's facts, its inbox, and the state that the previous execution carried
 * over.
 */
export function launch(
  work: TreeWork,
  id: RunId,
  run: RunRecord,
  { state, carried }: { readonly state: Json; readonly carried: CarriedState | null } = first,
): void {
  const { scope, traceId, secret } = work.tree;
  const turn = id === work.root ? work.tree.turn : run.turn;
  const { agentId, version, supervision, tools, rules, continuation } = run;
  if (secret === null) throw new TypeError(`tree ${work.tree.treeId} is erased: it starts no more runs`);
  work.put(id, run);
  const inbox = takeBatch(work, id);
  const deadline = work.slot(id)?.deadline ?? null;
  const input: LaunchInput = {
    agentId,
    version,
    supervision,
    scope,
    traceId,
    secret,
    policy: work.host.policyOf(agentId),
    deadline,
    state,
    tools,
    rules,
    carried,
    ...(turn && { turn }),
    inbox,
  };
  const tree = { type: "tree", key: work.object.key };
  const execution = work.object.launch({
    protocol: protocolNumber,
    tree,
    runId: id,
    continuation,
    batchesCalls: true,
    input: Json.of(input),
  });
  work.put(id, { ...work.live(id), execution, wakesWithItems: true });
  if (work.slot(id)?.cancelled) work.object.cancel(execution);
}

/** Takes the items of a run's inbox that fit into one reply, with the run's slot state. */
export function takeBatch(work: TreeWork, id: RunId): InboxBatch {
  const run = work.run(id);
  const slot = work.slot(id);
  if (!run || !slot) return { items: [], cursor: 0, more: false, slotState: "running", at: work.now };
  const { items, inbox } = takeItems(work, id, run);
  if (inbox !== run.inbox) work.put(id, { ...run, inbox });
  return {
    items,
    cursor: inbox.taken,
    more: inbox.items.length > 0,
    slotState: toSlotState(slot),
    at: work.now,
  };
}

/**
 * Takes the items that fit into one reply. Topic messages that do not fit stay, with everything that came after them.
 */
function takeItems(
  { object }: TreeWork,
  id: RunId,
  { inbox: before, backlog }: RunRecord,
): { readonly items: readonly InboxItem[]; readonly inbox: InboxRecord } {
  const { items: stored, inbox } = inboxOf(object, id, before).take();
  const { items, left } = readTopics(object, { run: id, taken: backlog?.topics }, stored);
  const taken = before.taken + items.length;
  if (left.length === 0) return { items, inbox: inbox === before ? inbox : { ...inbox, taken } };
  const kept = [...left, ...inbox.items];
  const characters = before.characters + inbox.characters;
  const sent = addSizes(inbox.sent, sizeOfSent(left));
  return { items, inbox: { ...inbox, items: kept, sent, characters, taken, delivered: 0, woken: true } };
}
