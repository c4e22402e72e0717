import type { Kysely } from "kysely";
import type { Partition } from "#kernel";
import type { Tables } from "./tables.ts";

/** What is done with the rows of one tenant. */
export type Work<T> = (db: Kysely<Tables>, tenant: string) => Promise<T>;

/** How a database gives access to the rows of a partition, and to no others where it can. */
export interface Access {
  read<T>(partition: Partition, work: Work<T>): Promise<T>;
  /** All or nothing. May be done again after a lost connection: every write allows it. */
  write<T>(partition: Partition, work: Work<T>): Promise<T>;
}

/** Rows for one statement: databases limit the number of its parameters. */
export function* batches<Item>(items: readonly Item[]): Iterable<readonly Item[]> {
  for (let start = 0; start < items.length; start += 500) yield items.slice(start, start + 500);
}
