import type { Kysely } from "kysely";
import type { Partition, TreeId } from "#kernel";
import type { Tables } from "./tables.ts";

/** Work on the rows of one tenant. */
export type Work<T> = (db: Kysely<Tables>, tenant: string) => Promise<T>;

/** The content that a transaction writes or erases. */
export interface WriteOptions {
  /** The tree whose content it writes or erases. No content of a tree is written while it is erased. */
  readonly tree?: TreeId;
  /** Whether it erases content for good, so that no copy may stay in the database's own files. Default: false. */
  readonly erases?: boolean;
}

/** Access of a database to the rows of a partition. Restricted to those rows if the database supports it. */
export interface Access {
  read<T>(partition: Partition, work: Work<T>): Promise<T>;
  /** Runs work atomically. May repeat it after a lost connection: every write allows that. */
  write<T>(partition: Partition, work: Work<T>, options?: WriteOptions): Promise<T>;
}

/** Rows for one statement: databases limit the number of its parameters. */
export function* batches<Item>(items: readonly Item[]): Iterable<readonly Item[]> {
  for (let start = 0; start < items.length; start += 500) yield items.slice(start, start + 500);
}
