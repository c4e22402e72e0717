import { Json, Page, type PageRequest, Partition, type Place } from "#kernel";

/** Items by key, apart for each tenant. */
export class Shelf<Item> {
  readonly #tenants = new Map<string, Map<string, Item>>();

  of(partition: Partition): Map<string, Item> {
    const key = Partition.key(partition);
    const known = this.#tenants.get(key);
    if (known) return known;
    const items = new Map<string, Item>();
    this.#tenants.set(key, items);
    return items;
  }
}

/** A value as a database would give it back: what its owner does to it later changes nothing here. */
export function copy<T>(value: T): T {
  return Json.as(JSON.parse(JSON.stringify(value)));
}

/** A page of what is there, newest first. */
export function pageOf<Item>(
  found: Iterable<Item>,
  request: PageRequest,
  place: (item: Item) => Place,
): Page<Item> {
  const { size, after } = Page.request(request);
  const newestFirst = [...found].toSorted((a, b) => -compare(place(a), place(b)));
  const rest = newestFirst.filter((item) => after === null || compare(place(item), after) < 0);
  return Page.of(rest.slice(0, size + 1), size, place);
}

function compare([at, id]: Place, [otherAt, otherId]: Place): number {
  return at - otherAt || (id < otherId ? -1 : Number(id > otherId));
}
