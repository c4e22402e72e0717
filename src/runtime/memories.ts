import { randomUUID } from "node:crypto";
import {
  exportUser,
  Labels,
  MemoryOwner,
  Partition,
  UserId,
  type Clock,
  type Fact,
  type FactQuery,
  type FoundMemory,
  type MemoryBlock,
  type MemoryItem,
  type RunRecord,
  type SessionId,
  type TreeId,
  type Store,
  type UserRecord,
} from "#kernel";
import { ScopedMemory } from "#run";
import type { Owner } from "./conversation.ts";
import { eraseValues } from "./erase-values.ts";
import type { Runs } from "./runs.ts";
import { ignoreMissing } from "./ignore-errors.ts";

/** The part of a runtime that {@link Memories} need. */
interface MemoryHost {
  /** @throws TypeError without one. */
  readonly store: Store;
  readonly runs: Pick<Runs, "root">;
}

/** A block, and whether all users of the tenant share it. */
export interface SharedBlock extends MemoryBlock {
  readonly shared: "user" | "tenant";
}

/** The outcome of forgetting facts. */
export interface Forgotten {
  readonly items: readonly MemoryItem[];
  /** Conversations whose messages contain a value of the facts. They are kept. */
  readonly conversations: readonly SessionId[];
}

/** The memory of agents about a user, for people and tests. Requires a store. */
export class Memories {
  readonly #host: MemoryHost;
  readonly #clock: Clock;

  constructor(host: MemoryHost, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** Returns facts of the user, by key, then by time. Default: those that are valid now. */
  facts(owner: Owner = {}, query: FactQuery = { at: this.#clock.now() }): Promise<readonly Fact[]> {
    return this.#open(owner).facts(query);
  }

  /** Returns blocks of the user, then those that all users of the tenant share. */
  async blocks({ tenant, user }: Owner = {}): Promise<readonly SharedBlock[]> {
    const { memory } = this.#host.store;
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

  /**
   * Erases one fact, or all facts of a key with their history, and their values in recorded steps, cached answers and
   * approvals. Conversations that contain a value are kept, and returned.
   */
  async forget(
    what: { readonly fact: string } | { readonly key: string },
    owner: Owner = {},
  ): Promise<Forgotten> {
    const { store, runs } = this.#host;
    const findRoot = (tree: TreeId): Promise<RunRecord | undefined> =>
      runs.root(tree, owner).catch(ignoreMissing);
    const memory = this.#open(owner);
    const facts = await memory.facts("fact" in what ? { ids: [what.fact] } : { key: what.key });
    const place = { partition: Partition.of(owner.tenant), userId: toUserId(owner.user) };
    const conversations = await eraseValues({ store, findRoot }, place, facts);
    // The facts go last, so that an interrupted call can be repeated.
    return { items: await memory.forget({ id: randomUUID(), ...what }), conversations };
  }

  /** Yields everything that memory keeps of the user, one item at a time, including blocks of the user's sessions. */
  async *export({ tenant, user }: Owner = {}): AsyncIterable<
    Extract<UserRecord, { readonly kind: "fact" | "block" }>
  > {
    const records = exportUser(this.#host.store, Partition.of(tenant), toUserId(user));
    for await (const record of records) {
      if (record.kind === "fact" || record.kind === "block") yield record;
      // Memory comes first, then sessions, which may be long.
      if (record.kind === "session" || record.kind === "run") return;
    }
  }

  #open({ tenant, user }: Owner): ScopedMemory {
    const now = (): number => this.#clock.now();
    const { tenantId } = Partition.of(tenant);
    const scope = { tenantId, userId: toUserId(user), sessionId: null, runId: null };
    return new ScopedMemory(this.#host.store, { ...scope, now, labels: () => Labels.none, embed: null });
  }
}

const toUserId = (user: string | undefined): UserId | null => (user === undefined ? null : UserId.of(user));
