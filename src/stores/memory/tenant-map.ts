import { Json, Page, type PageRequest, Partition, type PageCursor } from "#kernel";
import { copyJson } from "#base";

/** Items by key, apart for each tenant. */
export class TenantMap<Item> {
  readonly #tenants = new Map<string, Map<string, Item>>();

  getItems(partition: Partition): Map<string, Item> {
    const key = Partition.key(partition);
    const known = this.#tenants.get(key);
    if (known) return known;
    const items = new Map<string, Item>();
    this.#tenants.set(key, items);
    return items;
  }
}

/** Returns a copy, as a database would: later changes by the owner have no effect here. */
export function copy<T>(value: T): T {
  return Json.as(copyJson(value));
}

/** Returns a page of the items, newest first. */
export function toPage<Item>(
  found: Iterable<Item>,
  request: PageRequest,
  place: (item: Item) => PageCursor,
): Page<Item> {
  const { size, after } = Page.request(request);
  const newestFirst = [...found].toSorted((a, b) => -compareCursors(place(a), place(b)));
  const rest = newestFirst.filter((item) => after === null || compareCursors(place(item), after) < 0);
  return Page.of(rest.slice(0, size + 1), size, place);
}

/** Returns a page of the items, oldest first. */
export function pageFrom<Item>(
  found: readonly Item[],
  request: PageRequest,
  place: (item: Item) => PageCursor,
): Page<Item> {
  const { size, after } = Page.request(request);
  const oldestFirst = found.toSorted((a, b) => compareCursors(place(a), place(b)));
  const rest = oldestFirst.filter((item) => after === null || compareCursors(place(item), after) > 0);
  return Page.of(rest.slice(0, size + 1), size, place);
}

function compareCursors([at, id]: PageCursor, [otherAt, otherId]: PageCursor): number {
  return at - otherAt || (id < otherId ? -1 : Number(id > otherId));
}
