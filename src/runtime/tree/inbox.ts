import { Json, type ObjectContext, type RunId } from "#kernel";
import type { InboxItem, InboxRecord } from "./records.ts";

/** Items kept in the run's own record; more go to pages of the same size. */
const itemsPerPage = 32;
/** A page, or one answer to a run, is full at about this many characters. */
const charactersPerPage = 32_768;

/** The inbox of a run that has just been hired. */
export const emptyInbox: InboxRecord = { taken: 0, woken: false, items: [], first: 0, last: -1 };

/** An inbox that may be longer than its record: reads and writes its pages. */
export function inboxOf(
  object: ObjectContext,
  run: RunId,
  inbox: InboxRecord,
): {
  push(item: InboxItem): Promise<InboxRecord>;
  take(): Promise<{ readonly items: readonly InboxItem[]; readonly inbox: InboxRecord }>;
} {
  const key = (page: number): string => `inbox/${run}/${page}`;
  const read = async (page: number): Promise<readonly InboxItem[]> =>
    Json.as((await object.get(key(page))) ?? []);

  return {
    async push(item) {
      const hasPages = inbox.first <= inbox.last;
      if (!hasPages && hasRoom(inbox.items)) return { ...inbox, items: [...inbox.items, item] };
      const newest = hasPages ? await read(inbox.last) : [];
      const page = hasPages && hasRoom(newest) ? inbox.last : inbox.last + 1;
      object.set(key(page), Json.of(page === inbox.last ? [...newest, item] : [item]));
      return { ...inbox, last: page };
    },

    async take() {
      const { items } = inbox;
      const hasPages = inbox.first <= inbox.last;
      const next = hasPages ? await read(inbox.first) : [];
      if (hasPages) object.clear(key(inbox.first));
      const rest = { ...inbox, items: next, first: hasPages ? inbox.first + 1 : inbox.first };
      return { items, inbox: { ...rest, taken: inbox.taken + items.length, woken: next.length > 0 } };
    },
  };
}

function hasRoom(items: readonly InboxItem[]): boolean {
  if (items.length === 0) return true;
  return items.length < itemsPerPage && JSON.stringify(items).length < charactersPerPage;
}
