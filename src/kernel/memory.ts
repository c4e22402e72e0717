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
  /** Null is the anonymous user. */
  user: (userId: UserId | null): MemoryOwner => ({ kind: "user", userId }),
  tenant,
  session: ({ id, userId }: SessionKey): MemoryOwner => ({ kind: "session", session: { id, userId } }),
  /** Its name in keys. No id has a space, so no two owners share one. */
  key: (owner: MemoryOwner): string => {
    if (owner.kind === "tenant") return "t";
    if (owner.kind === "user") return `u ${owner.userId ?? ""}`;
    return `${MemoryOwner.sessionsPrefix(owner.session.userId)}${owner.session.id}`;
  },
  /** The beginning of the names of all sessions of a user. */
  sessionsPrefix: (user: UserId | null): string => `s ${user ?? ""} `,
  /** Reads a name that {@link MemoryOwner.key} made. @throws TypeError if it is none. */
  parse: (key: string): MemoryOwner => {
    const [kind, user = "", id, ...more] = key.split(" ");
    const userId = user === "" ? null : UserId.of(user);
    if (kind === "t" && key === "t") return tenant;
    if (kind === "u" && id === undefined) return MemoryOwner.user(userId);
    if (kind === "s" && id !== undefined && more.length === 0)
      return MemoryOwner.session({ id: SessionId.of(id), userId });
    throw new TypeError(`not the name of a memory owner: ${JSON.stringify(key)}`);
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
  /** Its name in keys. */
  key: (item: MemoryItem): string => {
    if (item.kind === "fact") return `fact ${item.id}`;
    if (item.kind === "block") return `block ${item.name}`;
    return `${MemoryItem.episodesPrefix(item.session)}${item.entry}`;
  },
  /** The beginning of the names of all episodes of a session. */
  episodesPrefix: (session: SessionId): string => `episode ${session} `,
  /** Reads a name that {@link MemoryItem.key} made. @throws TypeError if it is none. */
  parse: (key: string): MemoryItem => {
    const [kind, first = "", second, ...more] = key.split(" ");
    if (first !== "" && second === undefined) {
      if (kind === "fact") return MemoryItem.fact(first);
      if (kind === "block") return MemoryItem.block(first);
    }
    if (kind === "episode" && first !== "" && second && more.length === 0)
      return MemoryItem.episode(SessionId.of(first), EntryId.of(second));
    throw new TypeError(`not the name of a memory item: ${JSON.stringify(key)}`);
  },
} as const;

/** Something an agent remembers. */
export interface Fact {
  /**
   * No other write of the owner has it, so a write that is made again is known by it: the id of the step that
   * remembers is a good one. 1 to 200 printable characters without a space.
   */
  readonly id: string;
  /** The subject, for example `city`. A later fact of the same key supersedes an earlier one. */
  readonly key: string;
  readonly value: Json;
  readonly validFrom: number;
  /** When it ceases to hold. Null: until a later fact of the same key begins. */
  readonly validTo: number | null;
  readonly recordedAt: number;
  /** The run that wrote it. Null: no run did. */
  readonly runId: RunId | null;
  /** Labels of the run when it wrote the fact. A run that is shown the fact joins them. */
  readonly labels: Labels;
}

/** The rules of {@link Fact}s that stores share. */
export const Fact = {
  /** @throws TypeError unless it ends after it begins and has an id. */
  check: ({ id, key, validFrom, validTo }: Fact): void => {
    checkWriteId(id);
    if (validTo !== null && validTo <= validFrom)
      throw new TypeError(`the fact ${JSON.stringify(key)} ends at ${validTo}, but begins at ${validFrom}`);
  },
  /** Facts of one key as told, in the order of `validFrom`, as they hold: each ends where the next begins. */
  timeline: (told: readonly Fact[]): readonly Fact[] =>
    told.map((fact, index) => {
      const end = Math.min(fact.validTo ?? Infinity, told[index + 1]?.validFrom ?? Infinity);
      return { ...fact, validTo: end === Infinity ? null : end };
    }),
  /** Whether it holds at a moment. */
  holds: ({ validFrom, validTo }: Pick<Fact, "validFrom" | "validTo">, at: number): boolean =>
    validFrom <= at && (validTo === null || at < validTo),
} as const;

/** Facts to read. Absent: any. */
export interface FactQuery {
  readonly key?: string;
  readonly ids?: readonly string[];
  /** Only facts that hold then. */
  readonly at?: number;
}

/** An order to erase facts: one, or all of a key with their history. `id` names the write, as {@link Fact.id} does. */
export type ForgetRequest = { readonly id: string } & ({ readonly fact: string } | { readonly key: string });

/** The terms by which an item is found. */
export interface IndexEntry {
  readonly item: MemoryItem;
  /** Of two items that match equally well, the newer one is found first. */
  readonly at: number;
  /** As `toTerms` returns them. A sealing store returns keyed hashes instead. */
  readonly terms: readonly string[];
}

/** A search in an owner's index. */
export interface MemoryQuery {
  /** As `toTerms` returns them. */
  readonly terms: readonly string[];
  /** Default: all. */
  readonly kinds?: readonly MemoryKind[];
  readonly limit: number;
  /** Of facts, only those that hold then. Default: superseded and future ones as well. */
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
  /** The best of them, also from several owners: by score, then newest first. */
  best: (hits: readonly MemoryHit[], limit: number): readonly MemoryHit[] =>
    hits
      .toSorted((a, b) => b.score - a.score || b.at - a.at || compare(hitKey(a), hitKey(b)))
      .slice(0, limit),
} as const;

const hitKey = ({ owner, item }: MemoryHit): string => `${MemoryItem.key(item)} ${MemoryOwner.key(owner)}`;
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/**
 * Long-term memory: facts, blocks, and an index of words over both and over saved turns. Each owner is a partition of
 * its own. Every write has an id: made again, it changes nothing and returns what it returned before.
 */
export interface MemoryStore {
  /**
   * Facts of one key follow each other by `validFrom`, in whatever order they are told: each ends, at the latest,
   * where the next begins, so a back-dated one changes the past and not the present. Told again for the same
   * moment, the later word replaces the earlier one. Returns the items that were replaced.
   *
   * @throws TypeError unless it ends after it begins.
   */
  remember(
    partition: Partition,
    owner: MemoryOwner,
    fact: Fact,
    /** The terms to find it by. Default: none. */
    terms?: readonly string[],
  ): Promise<readonly MemoryItem[]>;
  /** By key, then by time. */
  recall(partition: Partition, owner: MemoryOwner, query: FactQuery): Promise<readonly Fact[]>;
  /** Erases facts with their terms and vectors. Returns the items that were erased. */
  forget(partition: Partition, owner: MemoryOwner, request: ForgetRequest): Promise<readonly MemoryItem[]>;

  /** Null if there is none of this name. */
  block(partition: Partition, owner: MemoryOwner, name: string): Promise<MemoryBlock | null>;
  /** All of the owner, by name. */
  blocks(partition: Partition, owner: MemoryOwner): Promise<readonly MemoryBlock[]>;
  /** Replaces the text, if the version is the present one. @throws TypeError if the text exceeds the limit. */
  editBlock(
    partition: Partition,
    owner: MemoryOwner,
    name: string,
    edit: BlockEdit,
  ): Promise<BlockEditResult>;
  /**
   * The receipt of an edit that was applied; null: there is none. Ask before computing an edit from the present text: the
   * edit may be in that text already.
   */
  findEdit(partition: Partition, owner: MemoryOwner, id: string): Promise<BlockReceipt | null>;
  /** Erases the block with its terms and vectors. Idempotent. */
  removeBlock(partition: Partition, owner: MemoryOwner, name: string): Promise<void>;

  /** Puts items into the index, each in place of its former terms. For episodes; facts and blocks bring theirs along. */
  index(partition: Partition, owner: MemoryOwner, entries: readonly IndexEntry[]): Promise<void>;
  /** Takes items out of the index. Idempotent. */
  unindex(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void>;
  /** Items that share terms with the query: those that share more and rarer ones first, then the newest. */
  search(partition: Partition, owner: MemoryOwner, query: MemoryQuery): Promise<readonly MemoryHit[]>;
  /** The index in the order of the items' names. `after`: the last item already seen. */
  indexed(
    partition: Partition,
    owner: MemoryOwner,
    range: { readonly after: MemoryItem | null; readonly limit: number },
  ): Promise<readonly IndexEntry[]>;
  /** The user and those of the user's sessions that own something here. */
  owners(partition: Partition, user: UserId | null): Promise<readonly MemoryOwner[]>;
}
