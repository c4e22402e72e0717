/** Where an item stands in a listing by time: its time, and its id among equals. */
export type Place = readonly [at: number, id: string];

/** Which part of a listing. */
export interface PageRequest {
  /** How many items at most: 1 to 1,000. */
  readonly size: number;
  /** The `next` of the page before. Absent: from the newest. */
  readonly after?: string;
}

/** A page of a listing, newest first. What is written meanwhile never shows an item twice or hides one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page starts; null on the last one. */
  readonly next: string | null;
}

/** What stores build pages with. */
export const Page = {
  /** Decodes a request. @throws TypeError if its size or cursor is none. */
  request: ({ size, after }: PageRequest): { readonly size: number; readonly after: Place | null } => {
    if (!Number.isSafeInteger(size) || size < 1 || size > 1_000)
      throw new TypeError(`not the size of a page: ${size} (1 to 1,000)`);
    return { size, after: after === undefined ? null : placeIn(after) };
  },
  /** A page from up to `size + 1` items: the one too many says that there is a next page. */
  of: <Item>(found: readonly Item[], size: number, place: (item: Item) => Place): Page<Item> => {
    const items = found.slice(0, size);
    const last = items.at(-1);
    const next = found.length > size && last !== undefined ? btoa(JSON.stringify(place(last))) : null;
    return { items, next };
  },
} as const;

function placeIn(cursor: string): Place {
  try {
    const place: unknown = JSON.parse(atob(cursor));
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === "string")
      return [Number(place[0]), place[1]];
  } catch {
    // Not base64, or not JSON: refused below like any other text.
  }
  throw new TypeError(`not a cursor: ${JSON.stringify(cursor)}`);
}
