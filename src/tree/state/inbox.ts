import { Json, type ObjectContext, type RunId } from "#kernel";
import { addSizes, isSent, subtractSizes, type BacklogSize } from "./backlogs.ts";
import type { InboxRecord, StoredItem } from "./records.ts";

/** Maximum number of items in the run's own record. Further items go to pages of the same size. */
const itemsPerPage = 32;

/** Approximate maximum characters of a page, or of one reply to a run. */
const charactersPerPage = 32_768;

/** The inbox of a run that was just spawned. */
export const emptyInbox: InboxRecord = {
  taken: 0,
  woken: false,
  delivered: 0,
  items: [],
  characters: 0,
  first: 0,
  last: -1,
};

/** Creates an inbox that may be longer than its record: it reads and writes its pages. */
export function inboxOf(
  object: ObjectContext,
  run: RunId,
  inbox: InboxRecord,
): {
  push(item: StoredItem): InboxRecord;
  take(): { readonly items: readonly StoredItem[]; readonly inbox: InboxRecord };
} {
  const key = (page: number): string => inboxPageKey(run, page);
  const read = (page: number): readonly StoredItem[] => Json.as(object.get(key(page)) ?? []);

  return {
    push(item) {
      const hasPages = inbox.first <= inbox.last;
      const { items, characters } = inbox;
      const length = getJsonLength(item);
      const sent = isSent(item) ? addSizes(inbox.sent, { messages: 1, characters: length }) : inbox.sent;
      if (!hasPages && hasRoom(items, characters))
        return { ...inbox, sent, items: [...items, item], characters: characters + length };
      const newest = hasPages ? read(inbox.last) : [];
      const page = hasPages && hasRoom(newest, getJsonLength(newest)) ? inbox.last : inbox.last + 1;
      object.set(key(page), Json.of(page === inbox.last ? [...newest, item] : [item]));
      return { ...inbox, sent, last: page };
    },

    take() {
      const hasPages = inbox.first <= inbox.last;
      if (inbox.items.length === 0 && inbox.delivered === 0 && !hasPages && !inbox.woken)
        return { items: [], inbox };
      const items =
        inbox.delivered > 0 ? [...takeDelivered(object, run, inbox), ...inbox.items] : inbox.items;
      const next = hasPages ? read(inbox.first) : [];
      if (hasPages) object.clear(key(inbox.first));
      const first = hasPages ? inbox.first + 1 : inbox.first;
      const rest = { ...inbox, items: next, characters: hasPages ? getJsonLength(next) : 0, first };
      const taken = inbox.taken + items.length;
      const sent = inbox.sent && next.length > 0 ? subtractSizes(inbox.sent, sizeOfSent(items)) : undefined;
      return { items, inbox: { ...rest, sent, taken, delivered: 0, woken: next.length > 0 } };
    },
  };
}

/** Returns the key of an item that a wake-up has brought: a page of its own, so that other items are read and written without it. */
const deliveredKey = (run: RunId, number: number): string => `inbox/${run}/told/${number}`;

const deliveredKeys = (run: RunId, { taken, delivered }: InboxRecord): readonly string[] =>
  Array.from({ length: delivered }, (_, index) => deliveredKey(run, taken + index));

/** Keeps an item that a wake-up brings, until the run says that it has it. The inbox has no items that are to be taken. */
export function keepDelivered(
  object: ObjectContext,
  run: RunId,
  inbox: InboxRecord,
  item: StoredItem,
): InboxRecord {
  object.set(deliveredKey(run, inbox.taken + inbox.delivered), Json.of([item]));
  return { ...inbox, delivered: inbox.delivered + 1 };
}

/** Takes out the items that wake-ups have brought and that the run may not have. */
export function takeDelivered(object: ObjectContext, run: RunId, inbox: InboxRecord): readonly StoredItem[] {
  const keys = deliveredKeys(run, inbox);
  object.prefetch(keys);
  const items = keys.flatMap((key) => Json.as<readonly StoredItem[]>(object.get(key) ?? []));
  for (const key of keys) object.clear(key);
  return items;
}

/** Drops the items that a run says it has. */
export function dropDelivered(
  object: ObjectContext,
  run: RunId,
  inbox: InboxRecord,
  cursor: number,
): InboxRecord {
  const count = Math.min(cursor - inbox.taken, inbox.delivered);
  if (count <= 0) return inbox;
  for (const key of deliveredKeys(run, inbox).slice(0, count)) object.clear(key);
  return { ...inbox, taken: inbox.taken + count, delivered: inbox.delivered - count };
}

/** Loads every page of an inbox in one round trip. */
export function prefetchInbox(object: ObjectContext, run: RunId, { first, last }: InboxRecord): void {
  if (first > last) return;
  object.prefetch(Array.from({ length: last - first + 1 }, (_, index) => inboxPageKey(run, first + index)));
}

/** Returns the size of the sent ones among items. Undefined: there is none. */
export function sizeOfSent(items: readonly StoredItem[]): BacklogSize | undefined {
  const sent = items.filter(isSent);
  if (sent.length === 0) return undefined;
  return { messages: sent.length, characters: sent.reduce((sum, item) => sum + getJsonLength(item), 0) };
}

const inboxPageKey = (run: RunId, page: number): string => `inbox/${run}/${page}`;

function hasRoom(items: readonly StoredItem[], characters: number): boolean {
  return items.length === 0 || (items.length < itemsPerPage && characters < charactersPerPage);
}

const getJsonLength = (value: unknown): number => JSON.stringify(value).length;
