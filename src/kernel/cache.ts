import type { TreeId, UserId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Partition } from "./partition.ts";

/** An answer of a model or a tool that may be given again. */
export interface CacheEntry {
  /** Names the question. A hash: it holds no content. */
  readonly key: string;
  readonly value: Json;
  readonly at: number;
  /** Expiry time. */
  readonly until: number;
  /** The tree that it came from. */
  readonly treeId: TreeId;
  /** The user that this tree works for. Null: none. */
  readonly userId: UserId | null;
  /** Whether it outlives the key of its tree. */
  readonly isPermanent: boolean;
}

/** The most that a cache keeps. */
export interface CacheLimits {
  /** Entries. */
  readonly max: number;
  /** Bytes of all values together, as they are stored. */
  readonly maxBytes: number;
}

/** Answers that may be given again, shared by all workers. May forget any of them at any time. */
export interface CacheStore {
  /** Returns an entry. Undefined: it is absent, expired, or was erased with its tree. */
  get(partition: Partition, key: string, now: number): Promise<CacheEntry | undefined>;
  /**
   * Keeps an entry, in place of one with the same key. Removes entries of the tenant that have expired by then, and the
   * oldest ones above the limits. An entry that alone is larger than the limit is not kept.
   */
  put(partition: Partition, entry: CacheEntry, limits: CacheLimits): Promise<void>;
  /** Removes the entries of a tree. `lasting`: also those that outlive its key. Default: false. */
  erase(partition: Partition, tree: TreeId, options?: { readonly lasting?: boolean }): Promise<void>;
}

/** The store's cache, as the steps of one run use it. It never fails: an unreadable entry counts as absent. */
export interface AnswerCache {
  get(key: string): Promise<Json | undefined>;
  put(
    key: string,
    answer: { readonly value: Json; readonly until: number },
    limits: CacheLimits,
  ): Promise<void>;
}
