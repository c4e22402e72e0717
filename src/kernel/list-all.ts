import type { Page, PageRequest } from "./page.ts";

/** Reads a whole listing, and yields its pages. */
export async function* listAll<Item>(
  list: (request: PageRequest) => Promise<Page<Item>>,
  size = 100,
): AsyncGenerator<readonly Item[], void> {
  for (let after: string | null | undefined; after !== null;) {
    const { items, next }: Page<Item> = await list({ size, ...(after !== undefined && { after }) });
    yield items;
    after = next;
  }
}
