import {
  exportUser,
  Labels,
  MemoryOwner,
  Partition,
  UserId,
  type Fact,
  type FactQuery,
  type FoundMemory,
  type MemoryBlock,
  type MemoryItem,
  type Store,
  type UserRecord,
} from "#kernel";
import { ScopedMemory } from "#run";
import type { Owner } from "./conversation.ts";

/** The means of {@link Memories}. */
interface MemoriesDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly uuid: () => string;
}

/** A block, and whether all users of the tenant share it. */
export interface SharedBlock extends MemoryBlock {
  readonly shared: "user" | "tenant";
}

/** What agents remember of a user, for people and tests. All of it needs a store. */
export class Memories {
  readonly #deps: () => MemoriesDeps;

  constructor(deps: () => MemoriesDeps) {
    this.#deps = deps;
  }

  /** Facts of the user, by key, then by time. Default: those that hold now. */
  facts(owner: Owner = {}, query: FactQuery = { at: this.#deps().now() }): Promise<readonly Fact[]> {
    return this.#open(owner).facts(query);
  }

  /** Blocks of the user, then those that all users of the tenant share. */
  async blocks({ tenant, user }: Owner = {}): Promise<readonly SharedBlock[]> {
    const { memory } = this.#deps().store;
    const partition = Partition.of(tenant);
    const [own, shared] = await Promise.all([
      memory.blocks(partition, MemoryOwner.user(toUserId(user))),
      memory.blocks(partition, MemoryOwner.tenant),
    ]);
    return [
      ...own.map((block) => Object.assign({ shared: "user" as const }, block)),
      ...shared.map((block) => Object.assign({ shared: "tenant" as const }, block)),
    ];
  }

  /** Finds facts and messages of earlier turns by words, the best first. */
  recall(
    text: string,
    { limit = 20, ...owner }: Owner & { readonly limit?: number } = {},
  ): Promise<readonly FoundMemory[]> {
    return this.#open(owner).search({ text, kinds: ["fact", "episode"], limit });
  }

  /** Erases one fact, or all of a key with their history. Returns those that were erased. */
  forget(
    what: { readonly fact: string } | { readonly key: string },
    owner: Owner = {},
  ): Promise<readonly MemoryItem[]> {
    return this.#open(owner).forget({ id: this.#deps().uuid(), ...what });
  }

  /** Everything that memory keeps of the user, a piece at a time: also blocks of the user's sessions. */
  async *export({ tenant, user }: Owner = {}): AsyncIterable<
    Extract<UserRecord, { readonly kind: "fact" | "block" }>
  > {
    const records = exportUser(this.#deps().store, Partition.of(tenant), toUserId(user));
    for await (const record of records) {
      if (record.kind === "fact" || record.kind === "block") yield record;
      // Memory comes first, then sessions, which may be long.
      if (record.kind === "session" || record.kind === "run") return;
    }
  }

  #open({ tenant, user }: Owner): ScopedMemory {
    const { store, now } = this.#deps();
    const { tenantId } = Partition.of(tenant);
    const scope = { tenantId, userId: toUserId(user), sessionId: null, runId: null };
    return new ScopedMemory(store, { ...scope, now, labels: () => Labels.none, embed: null });
  }
}

const toUserId = (user: string | undefined): UserId | null => (user === undefined ? null : UserId.of(user));
