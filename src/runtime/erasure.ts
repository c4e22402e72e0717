import {
  copyStore,
  EntryId,
  listAll,
  NotFoundError,
  Partition,
  SessionBusyError,
  UserId,
  type Clock,
  type Engine,
  type RunFilter,
  type RunRecord,
  type SessionId,
  type SessionKey,
  type Store,
  type TreeId,
} from "#kernel";
import { callTree, treeAddress } from "#tree";
import type { ConversationDeps, Owner } from "./conversation.ts";
import { ignoreMissing } from "./ignore-errors.ts";
import type { Projector } from "./projector.ts";
import type { RunHandle } from "./run-handle.ts";
import type { Runs } from "./runs.ts";

/*
 * Erases conversations and users on request, in the engine and in the store.
 *
 * 1. Live trees are cancelled first. Nothing is erased before they have ended.
 * 2. Each tree erases its own state. Then its projector erases it in the store and destroys its key. The store ignores
 *    later writes of the tree, for example by a process that was frozen.
 * 3. The records that lead to the trees are removed last, so an interrupted erasure can be repeated.
 */

/** The parts of a runtime that erase. */
interface ErasureDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Aborted when the runtime is closed, with the error for waiting callers. */
  readonly closed: AbortSignal;
  readonly runtime: Pick<ConversationDeps, "turn" | "whileIdle"> & {
    readonly runs: Pick<Runs, "root">;
    run(id: string, options: { readonly tenant?: string }): Pick<RunHandle, "cancel" | "result">;
  };
}

/** Trees that are erased at once. */
const treesAtOnce = 8;
const firstWaitMs = 2;
const maxWaitMs = 1_000;

/** Erases conversations and users. */
export class Erasure {
  readonly #deps: ErasureDeps;
  readonly #stored: Store;
  readonly #projector: Pick<Projector, "eraseStored">;
  /** The store. Its `eraseUser` also erases the user's trees in the engine. */
  readonly store: Store;

  constructor(store: Store, projector: Pick<Projector, "eraseStored">, deps: ErasureDeps) {
    this.#deps = deps;
    this.#stored = store;
    this.#projector = projector;
    this.store = { ...copyStore(store), eraseUser: (...given) => this.#eraseUser(...given) };
  }

  /** Erases a conversation and all traces of its turns. Cancels running turns. */
  async eraseConversation(session: SessionId, owner: Owner): Promise<void> {
    const { runtime } = this.#deps;
    const partition = Partition.of(owner.tenant);
    const userId = owner.user === undefined ? null : UserId.of(owner.user);
    const trees = { sessionId: session, userId };
    const key = { id: session, userId };
    const removeIfErased = async (): Promise<boolean> => {
      if (await this.#findLastTurn(partition, key)) return false;
      if (await this.#hasTrees(partition, trees)) return false;
      await this.#stored.sessions.remove(partition, key);
      return true;
    };
    await this.#repeat(async () => {
      const holder = await runtime.turn(session, owner);
      if (holder) await this.#eraseTree(partition, holder);
      const last = await this.#findLastTurn(partition, key);
      if (last) await this.#eraseTree(partition, last);
      await this.#eraseTrees(partition, trees);
      return runtime.whileIdle(session, owner, removeIfErased).catch((error: unknown) => {
        // A new turn has begun, or the last one has not released the conversation yet.
        if (error instanceof SessionBusyError) return false;
        throw error;
      });
    });
  }

  /** Erases a user: runs, conversations, memory, and all traces of the user's trees. Cancels live trees. */
  async #eraseUser(partition: Partition, userId: UserId | null): Promise<void> {
    while (await this.#hasTrees(partition, { userId })) await this.#eraseTrees(partition, { userId });
    await this.#stored.eraseUser(partition, userId);
  }

  /** Returns the tree of the last saved turn: the store may not list it yet. Null if there is none, or it is erased. */
  async #findLastTurn(partition: Partition, key: SessionKey): Promise<TreeId | null> {
    const store = this.#stored;
    const leaf = await store.sessions.leaf(partition, key, null);
    const tree = leaf && EntryId.tree(leaf);
    if (tree === null || (await store.isErased(partition, tree))) return null;
    const root = await this.#deps.runtime.runs.root(tree, toOwner(partition)).catch(ignoreMissing);
    if (root) return root.sessionId === key.id && root.userId === key.userId ? tree : null;
    // Only its steps and entries are left. A fork also has entries of another conversation's turns.
    return (await store.sessions.head(partition, key))?.forkedFrom === null ? tree : null;
  }

  /** Whether any tree is not erased. */
  async #hasTrees(partition: Partition, filter: RunFilter): Promise<boolean> {
    for await (const roots of this.#pages(partition, filter))
      for (const { treeId } of roots) if (!(await this.#stored.isErased(partition, treeId))) return true;
    return false;
  }

  async #eraseTrees(partition: Partition, filter: RunFilter): Promise<void> {
    for await (const roots of this.#pages(partition, filter))
      await Promise.all(roots.map(({ treeId }) => this.#eraseTree(partition, treeId)));
  }

  #pages(partition: Partition, filter: RunFilter): AsyncGenerator<readonly RunRecord[], void> {
    const roots = { ...filter, rootsOnly: true };
    return listAll((page) => this.#stored.runs.list(partition, roots, page), treesAtOnce);
  }

  async #eraseTree(partition: Partition, tree: TreeId): Promise<void> {
    const store = this.#stored;
    if (await store.isErased(partition, tree)) return;
    try {
      while (!(await this.#order(partition, tree))) await this.#stop(partition, tree);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      return this.#projector.eraseStored(partition, tree);
    }
    await this.#repeat(() => store.isErased(partition, tree));
  }

  /** Orders a tree to erase itself. Returns false if it has not ended. @throws NotFoundError */
  #order(partition: Partition, tree: TreeId): Promise<boolean> {
    const { engine, clock } = this.#deps;
    const address = treeAddress(tree, toOwner(partition).tenant);
    return callTree((method, given) => engine.call(address, method, given), "eraseAll", { at: clock.now() });
  }

  async #stop(partition: Partition, tree: TreeId): Promise<void> {
    const root = this.#deps.runtime.run(tree, toOwner(partition));
    await root.cancel("erased");
    await root.result();
  }

  /** Repeats work until it returns true, with growing intervals. @throws RuntimeClosedError if the runtime is closed. */
  async #repeat(work: () => Promise<boolean>): Promise<void> {
    const { clock, closed } = this.#deps;
    for (let waitMs = firstWaitMs; !(await work()); waitMs = Math.min(2 * waitMs, maxWaitMs))
      await clock.waitUntil(clock.now() + waitMs, closed);
  }
}

const toOwner = ({ tenantId }: Partition): { readonly tenant?: string } =>
  tenantId === null ? {} : { tenant: tenantId };
