/** The position of an item in a listing by time: its time, then its id. */
export type PageCursor = readonly [at: number, id: string];

/** A request for one page of a listing. */
export interface PageRequest {
  /** Maximum number of items: 1 to 1,000. */
  readonly size: number;
  /** The `next` of the previous page. Absent: from the newest. */
  readonly after?: string;
}

/** A page of a listing, newest first. Concurrent writes never make an item appear twice or disappear. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page. Null on the last one. */
  readonly next: string | null;
}

/** Functions with which stores build pages. */
export const Page = {
  /** Decodes a request. @throws TypeError if its size or cursor is invalid. */
  request: ({ size, after }: PageRequest): { readonly size: number; readonly after: PageCursor | null } => {
    if (!Number.isSafeInteger(size) || size < 1 || size > 1_000)
      throw new TypeError(`page size must be an integer from 1 to 1000, got ${size}`);
    return { size, after: after === undefined ? null : placeIn(after) };
  },
  /** Builds a page from up to `size + 1` items. The extra item shows that there is a next page. */
  of: <Item>(found: readonly Item[], size: number, place: (item: Item) => PageCursor): Page<Item> => {
    const items = found.slice(0, size);
    const last = items.at(-1);
    const next = found.length > size && last !== undefined ? btoa(JSON.stringify(place(last))) : null;
    return { items, next };
  },
} as const;

function placeIn(cursor: string): PageCursor {
  try {
    const place: unknown = JSON.parse(atob(cursor));
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === "string")
      return [Number(place[0]), place[1]];
  } catch {
    // Not base64, or not JSON: refused below like any other text.
  }
  throw new TypeError(`invalid cursor ${JSON.stringify(cursor)}`);
}
