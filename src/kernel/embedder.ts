import type { SessionKey } from "./session.ts";
import type { UserId } from "./ids.ts";
import type { MemoryHit, MemoryItem, MemoryKind, MemoryOwner } from "./memory.ts";
import type { Partition } from "./partition.ts";
import type { Price } from "./price.ts";

/** A model that turns texts into vectors: texts of similar meaning get similar ones. */
export interface Embedder {
  /** Vectors of different embedders cannot be compared, so each is kept with this id. */
  readonly id: string;
  /** The length of a vector. */
  readonly dimensions: number;
  /** Null: nothing is charged. */
  readonly price: Price | null;
  /** Returns one vector for each text, in the same order. */
  embed(texts: readonly string[], options: { readonly signal: AbortSignal }): Promise<Embeddings>;
}

/** The answer of an {@link Embedder}. */
export interface Embeddings {
  readonly vectors: readonly (readonly number[])[];
  /** Null: the provider did not report it. */
  readonly inputTokens: number | null;
}

/** The vector of an item. */
export interface MemoryVector {
  readonly item: MemoryItem;
  /** The id of the embedder that made it. */
  readonly embedder: string;
  readonly at: number;
  readonly vector: readonly number[];
}

/** The place of a vector in the list of its owner's. */
export type VectorPosition = Pick<MemoryVector, "item" | "embedder">;

/** A search for similar vectors. */
export interface VectorQuery {
  readonly embedder: string;
  readonly vector: readonly number[];
  /** Default: all. */
  readonly kinds?: readonly MemoryKind[];
  readonly limit: number;
}

/**
 * Vectors of memory. A vector reveals its text, and cannot be compared while it is sealed. So with sealing, vectors are
 * stored only in a store that the user names.
 */
export interface VectorStore {
  /** Stores vectors. Replaces those of the same item and embedder. */
  put(partition: Partition, owner: MemoryOwner, vectors: readonly MemoryVector[]): Promise<void>;
  /** Returns the most similar vectors of the owner, best first. The score is the cosine, from -1 to 1. */
  search(partition: Partition, owner: MemoryOwner, query: VectorQuery): Promise<readonly MemoryHit[]>;
  /** Removes the vectors of these items, of every embedder. Idempotent. */
  remove(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void>;
  /** In the order of the items' names, then of embedders. `after`: the last one already seen. */
  list(
    partition: Partition,
    owner: MemoryOwner,
    range: { readonly after: VectorPosition | null; readonly limit: number },
  ): Promise<readonly MemoryVector[]>;
  /** Removes all that the user and the user's sessions own. */
  eraseUser(partition: Partition, user: UserId | null): Promise<void>;
  /** Removes all that the session owns, and its episodes. */
  eraseSession(partition: Partition, session: SessionKey): Promise<void>;
}

/** The arithmetic that stores of vectors share. */
export const MemoryVector = {
  /** Checks a vector. @throws TypeError unless its numbers are finite and at least one is not 0. */
  check: ({ item, vector }: Pick<MemoryVector, "vector"> & { readonly item?: MemoryItem }): void => {
    const isFit = vector.length > 0 && vector.every(Number.isFinite) && vector.some((each) => each !== 0);
    if (!isFit)
      throw new TypeError(
        `a vector ${item ? `of a ${item.kind} ` : ""}must have finite numbers, not all of them 0, got ${vector.length} numbers`,
      );
  },
  /** Returns the cosine of two vectors. -1 if their lengths differ. */
  cosine: (one: ArrayLike<number>, other: ArrayLike<number>): number => {
    if (one.length !== other.length) return -1;
    let [dot, a, b] = [0, 0, 0];
    for (let index = 0; index < one.length; index += 1) {
      const [x, y] = [one[index] ?? 0, other[index] ?? 0];
      dot += x * y;
      a += x * x;
      b += y * y;
    }
    return dot / Math.sqrt(a * b);
  },
} as const;
