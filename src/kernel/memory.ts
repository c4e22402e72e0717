import { EntryId, SessionId, UserId, type RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { BlockEdit, BlockEditResult, BlockReceipt, MemoryBlock } from "./memory-block.ts";
import type { Partition } from "./partition.ts";
import type { SessionKey } from "./session.ts";
import { checkWriteId } from "./write-id.ts";

/** The owner of a piece of memory within a tenant: a user, the tenant as a whole, or one session of a user. */
export type MemoryOwner =
  | { readonly kind: "user"; readonly userId: UserId | null }
  | { readonly kind: "tenant" }
  | { readonly kind: "session"; readonly session: SessionKey };

const tenant: MemoryOwner = Object.freeze({ kind: "tenant" });

/** Constructors and readers of {@link MemoryOwner}. */
export const MemoryOwner = {
  /** Returns a user's memory owner. Null is the anonymous user. */
  user: (userId: UserId | null): MemoryOwner => ({ kind: "user", userId }),
  tenant,
  session: ({ id, userId }: SessionKey): MemoryOwner => ({ kind: "session", session: { id, userId } }),
  /** Returns the owner's name in keys. No id has a space, so no two owners share a name. */
  key: (owner: MemoryOwner): string => {
    if (owner.kind === "tenant") return "t";
    if (owner.kind === "user") return `u ${owner.userId ?? ""}`;
    return `${MemoryOwner.sessionsPrefix(owner.session.userId)}${owner.session.id}`;
  },
  /** Returns the prefix of the names of all sessions of a user. */
  sessionsPrefix: (user: UserId | null): string => `s ${user ?? ""} `,
  /** Parses a name that {@link MemoryOwner.key} made. @throws TypeError if it is invalid. */
  parse: (key: string): MemoryOwner => {
    const [kind, user = "", id, ...more] = key.split(" ");
    const userId = user === "" ? null : UserId.of(user);
    if (kind === "t" && key === "t") return tenant;
    if (kind === "u" && id === undefined) return MemoryOwner.user(userId);
    if (kind === "s" && id !== undefined && more.length === 0)
      return MemoryOwner.session({ id: SessionId.of(id), userId });
    throw new TypeError(`invalid memory owner ${JSON.stringify(key)}`);
  },
} as const;

/** The kinds of memory that a search can find. */
export type MemoryKind = MemoryItem["kind"];

/** A name of something in an owner's memory. An episode is an entry of a session: it stays there and is not copied. */
export type MemoryItem =
  | { readonly kind: "fact"; readonly id: string }
  | { readonly kind: "block"; readonly name: string }
  | { readonly kind: "episode"; readonly session: SessionId; readonly entry: EntryId };

/** Constructors and readers of {@link MemoryItem}. */
export const MemoryItem = {
  fact: (id: string): MemoryItem => ({ kind: "fact", id }),
  block: (name: string): MemoryItem => ({ kind: "block", name }),
  episode: (session: SessionId, entry: EntryId): MemoryItem => ({ kind: "episode", session, entry }),
  /** Returns the item's name in keys. */
  key: (item: MemoryItem): string => {
    if (item.kind === "fact") return `fact ${item.id}`;
    if (item.kind === "block") return `block ${item.name}`;
    return `${MemoryItem.episodesPrefix(item.session)}${item.entry}`;
  },
  /** Returns the prefix of the names of all episodes of a session. */
  episodesPrefix: (session: SessionId): string => `episode ${session} `,
  /** Parses a name that {@link MemoryItem.key} made. @throws TypeError if it is invalid. */
  parse: (key: string): MemoryItem => {
    const [kind, first = "", second, ...more] = key.split(" ");
    if (first !== "" && second === undefined) {
      if (kind === "fact") return MemoryItem.fact(first);
      if (kind === "block") return MemoryItem.block(first);
    }
    if (kind === "episode" && first !== "" && second && more.length === 0)
      return MemoryItem.episode(SessionId.of(first), EntryId.of(second));
    throw new TypeError(`invalid memory item ${JSON.stringify(key)}`);
  },
} as const;

/** Something an agent remembers. */
export interface Fact {
  /**
   * Unique among the owner's writes, so that a repeated write is recognized. The id of the step that remembers is a
   * good choice. 1 to 200 printable characters without a space.
   */
  readonly id: string;
  /** The subject, for example `city`. A later fact of the same key supersedes an earlier one. */
  readonly key: string;
  readonly value: Json;
  readonly validFrom: number;
  /** End of its validity. Null: valid until a later fact of the same key begins. */
  readonly validTo: number | null;
  readonly recordedAt: number;
  /** The run that wrote it. Null: no run did. */
  readonly runId: RunId | null;
  /** Labels of the run when it wrote the fact. A run that is shown the fact joins them. */
  readonly labels: Labels;
}

/** The rules of {@link Fact}s that stores share. */
export const Fact = {
  /** @throws TypeError unless it ends after it begins and has a valid id. */
  check: ({ id, key, validFrom, validTo }: Fact): void => {
    checkWriteId(id);
    if (validTo !== null && validTo <= validFrom)
      throw new TypeError(`the fact ${JSON.stringify(key)} ends at ${validTo}, but begins at ${validFrom}`);
  },
  /** @throws RangeError if an owner with this many other facts has no room for another. */
  checkRoom: (others: number, { maxFacts = 10_000 }: RememberOptions): void => {
    if (others >= maxFacts)
      throw new RangeError(`there are ${others} facts, with earlier values: forget some before you add one`);
  },
  /**
   * Returns facts of one key with their effective validity: each ends at the latest where the next begins. Expects the
   * order of `validFrom`.
   */
  timeline: (told: readonly Fact[]): readonly Fact[] =>
    told.map((fact, index) => {
      const end = Math.min(fact.validTo ?? Infinity, told[index + 1]?.validFrom ?? Infinity);
      return { ...fact, validTo: end === Infinity ? null : end };
    }),
  /** Whether the fact is valid at a moment. */
  holds: ({ validFrom, validTo }: Pick<Fact, "validFrom" | "validTo">, at: number): boolean =>
    validFrom <= at && (validTo === null || at < validTo),
} as const;

/** Options of writing a fact. */
export interface RememberOptions {
  /** The terms to find it by. Default: none. */
  readonly terms?: readonly string[];
  /** Maximum number of facts of the owner, with their history. Default: 10,000. */
  readonly maxFacts?: number;
}

/** Facts to read. Absent: any. */
export interface FactQuery {
  readonly key?: string;
  readonly ids?: readonly string[];
  /** Only facts that are valid at this moment. */
  readonly at?: number;
}

/** An order to erase facts: one, or all of a key with their history. `id` names the write, as {@link Fact.id} does. */
export type ForgetRequest = { readonly id: string } & ({ readonly fact: string } | { readonly key: string });

/** The terms by which an item is found. */
export interface IndexEntry {
  readonly item: MemoryItem;
  /** Time of the item. If two items match equally well, the newer one comes first. */
  readonly at: number;
  /** Terms in the form that `toTerms` returns. A sealing store returns keyed hashes instead. */
  readonly terms: readonly string[];
}

/** A search in an owner's index. */
export interface MemoryQuery {
  /** Terms in the form that `toTerms` returns. */
  readonly terms: readonly string[];
  /** Default: all. */
  readonly kinds?: readonly MemoryKind[];
  readonly limit: number;
  /** Only facts that are valid at this moment. Default: also superseded and future ones. */
  readonly at?: number;
}

/** An item that a search found. */
export interface MemoryHit {
  readonly owner: MemoryOwner;
  readonly item: MemoryItem;
  /** Higher is better. Comparable between searches of the same kind only. */
  readonly score: number;
  readonly at: number;
}

/** Readers of {@link MemoryHit}. */
export const MemoryHit = {
  /** Returns the best hits, also of several owners: by score, then newest first. */
  best: (hits: readonly MemoryHit[], limit: number): readonly MemoryHit[] =>
    hits
      .toSorted((a, b) => b.score - a.score || b.at - a.at || compareText(hitKey(a), hitKey(b)))
      .slice(0, limit),
} as const;

const hitKey = ({ owner, item }: MemoryHit): string => `${MemoryItem.key(item)} ${MemoryOwner.key(owner)}`;
const compareText = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/**
 * Long-term memory: facts, blocks, and an index of terms over both and over saved turns. Each owner is a separate
 * partition. Every write has an id: a repeated write changes nothing and returns its first result.
 */
export interface MemoryStore {
  /**
   * Stores a fact. Facts of one key follow each other by `validFrom`, in any order of writing. Each ends at the latest
   * where the next begins, so a back-dated fact changes the past and not the present. A second fact for the same moment
   * replaces the first. Returns the replaced items.
   *
   * @throws TypeError unless it ends after it begins; RangeError if the owner has too many facts.
   */
  remember(
    partition: Partition,
    owner: MemoryOwner,
    fact: Fact,
    options?: RememberOptions,
  ): Promise<readonly MemoryItem[]>;
  /** Returns facts by key, then by time. */
  recall(partition: Partition, owner: MemoryOwner, query: FactQuery): Promise<readonly Fact[]>;
  /** Erases facts with their terms and vectors. Returns the items that were erased. */
  forget(partition: Partition, owner: MemoryOwner, request: ForgetRequest): Promise<readonly MemoryItem[]>;

  /** Returns a block by name. Null if absent. */
  block(partition: Partition, owner: MemoryOwner, name: string): Promise<MemoryBlock | null>;
  /** Returns all blocks of the owner, by name. */
  blocks(partition: Partition, owner: MemoryOwner): Promise<readonly MemoryBlock[]>;
  /** Replaces the text, if the version is the present one. @throws TypeError if the text exceeds the limit. */
  editBlock(
    partition: Partition,
    owner: MemoryOwner,
    name: string,
    edit: BlockEdit,
  ): Promise<BlockEditResult>;
  /**
   * Returns the receipt of an applied edit. Null: none. Call it before computing an edit from the present text, because
   * the text may contain the edit already.
   */
  findEdit(partition: Partition, owner: MemoryOwner, id: string): Promise<BlockReceipt | null>;
  /** Erases the block with its terms and vectors. Idempotent. */
  removeBlock(partition: Partition, owner: MemoryOwner, name: string): Promise<void>;

  /**
   * Adds items to the index, or replaces their terms. For episodes: facts and blocks are indexed when they are written.
   */
  index(partition: Partition, owner: MemoryOwner, entries: readonly IndexEntry[]): Promise<void>;
  /** Takes items out of the index. Idempotent. */
  unindex(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void>;
  /** Returns items that share terms with the query: more and rarer shared terms first, then the newest. */
  search(partition: Partition, owner: MemoryOwner, query: MemoryQuery): Promise<readonly MemoryHit[]>;
  /** Returns the index in the order of the items' names. `after`: the last item already seen. */
  listIndexed(
    partition: Partition,
    owner: MemoryOwner,
    range: { readonly after: MemoryItem | null; readonly limit: number },
  ): Promise<readonly IndexEntry[]>;
  /** Returns the user and the user's sessions, as far as they own something here. */
  owners(partition: Partition, user: UserId | null): Promise<readonly MemoryOwner[]>;
}
