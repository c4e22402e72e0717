import { Json, type ObjectContext, type RunId } from "#kernel";
import type { InboxRecord, StoredItem } from "./records.ts";

/** Maximum number of items in the run's own record. Further items go to pages of the same size. */
const itemsPerPage = 32;

/** Approximate maximum characters of a page, or of one reply to a run. */
const charactersPerPage = 32_768;

/** The inbox of a run that was just spawned. */
export const emptyInbox: InboxRecord = {
  taken: 0,
  woken: false,
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
  const key = (page: number): string => pageKey(run, page);
  const read = (page: number): readonly StoredItem[] => Json.as(object.get(key(page)) ?? []);

  return {
    push(item) {
      const hasPages = inbox.first <= inbox.last;
      const { items, characters } = inbox;
      if (!hasPages && hasRoom(items, characters))
        return { ...inbox, items: [...items, item], characters: characters + lengthOf(item) };
      const newest = hasPages ? read(inbox.last) : [];
      const page = hasPages && hasRoom(newest, lengthOf(newest)) ? inbox.last : inbox.last + 1;
      object.set(key(page), Json.of(page === inbox.last ? [...newest, item] : [item]));
      return { ...inbox, last: page };
    },

    take() {
      const { items } = inbox;
      const hasPages = inbox.first <= inbox.last;
      if (items.length === 0 && !hasPages && !inbox.woken) return { items, inbox };
      const next = hasPages ? read(inbox.first) : [];
      if (hasPages) object.clear(key(inbox.first));
      const first = hasPages ? inbox.first + 1 : inbox.first;
      const rest = { ...inbox, items: next, characters: hasPages ? lengthOf(next) : 0, first };
      return { items, inbox: { ...rest, taken: inbox.taken + items.length, woken: next.length > 0 } };
    },
  };
}

/** Loads every page of an inbox in one round trip. */
export function prefetchInbox(object: ObjectContext, run: RunId, { first, last }: InboxRecord): void {
  if (first > last) return;
  object.prefetch(Array.from({ length: last - first + 1 }, (_, index) => pageKey(run, first + index)));
}

const pageKey = (run: RunId, page: number): string => `inbox/${run}/${page}`;

function hasRoom(items: readonly StoredItem[], characters: number): boolean {
  return items.length === 0 || (items.length < itemsPerPage && characters < charactersPerPage);
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length;
