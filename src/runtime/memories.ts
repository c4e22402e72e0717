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

/** The dependencies of {@link Memories}. */
interface MemoriesDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly uuid: () => string;
}

/** A block, and whether all users of the tenant share it. */
export interface SharedBlock extends MemoryBlock {
  readonly shared: "user" | "tenant";
}

/** The memory of agents about a user, for people and tests. Requires a store. */
export class Memories {
  readonly #deps: () => MemoriesDeps;

  constructor(deps: () => MemoriesDeps) {
    this.#deps = deps;
  }

  /** Returns facts of the user, by key, then by time. Default: those that are valid now. */
  facts(owner: Owner = {}, query: FactQuery = { at: this.#deps().now() }): Promise<readonly Fact[]> {
    return this.#open(owner).facts(query);
  }

  /** Returns blocks of the user, then those that all users of the tenant share. */
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

  /** Finds facts and messages of earlier turns by their terms, the best first. */
  recall(
    text: string,
    { limit = 20, ...owner }: Owner & { readonly limit?: number } = {},
  ): Promise<readonly FoundMemory[]> {
    return this.#open(owner).search({ text, kinds: ["fact", "episode"], limit });
  }

  /** Erases one fact, or all of a key with their history. Returns the erased items. */
  forget(
    what: { readonly fact: string } | { readonly key: string },
    owner: Owner = {},
  ): Promise<readonly MemoryItem[]> {
    return this.#open(owner).forget({ id: this.#deps().uuid(), ...what });
  }

  /** Yields everything that memory keeps of the user, one item at a time, including blocks of the user's sessions. */
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
