import { type AuditStore, Partition, RunId, type Store, type TreeId, type UserId } from "#kernel";
import { LruMap } from "#base";
import { MemoryApiKeys } from "./api-keys.ts";
import { MemoryApprovals } from "./approvals.ts";
import { MemoryAudit, noAudit } from "./audit.ts";
import { MemoryCacheStore } from "./cache.ts";
import { ErasedTrees } from "./erased-trees.ts";
import { MemoryEvents } from "./events.ts";
import { MemoryKeys } from "./keys.ts";
import { MemoryLimits } from "./limits.ts";
import { MemoryManifests } from "./manifests.ts";
import { MemoryMemories } from "./memories.ts";
import { MemoryRuns } from "./runs.ts";
import { MemorySessions } from "./sessions.ts";
import { MemorySpend } from "./spend.ts";
import { MemoryVectors } from "./vectors.ts";
import { MemoryWebhooks } from "./webhooks.ts";
import { MemoryWorkers } from "./workers.ts";

/** The limits of a memory store. */
interface MemoryStoreOptions {
  /**
   * Number of finished trees to keep; older ones are removed. A store with this limit keeps no audit, because removed
   * links would make it unverifiable. Default: all.
   */
  readonly maxFinishedTrees?: number;
}

/** Creates a store in the memory of this process, for tests and first steps. Its data ends with the process. */
export function memoryStore({ maxFinishedTrees = Infinity }: MemoryStoreOptions = {}): Store {
  return new Memory(maxFinishedTrees);
}

class Memory implements Store {
  readonly durable = false;
  readonly #finished: LruMap<string, () => void>;
  readonly #erased = new ErasedTrees();
  readonly runs = new MemoryRuns(this.#erased, (partition, tree) =>
    this.#finished.set(Partition.key(partition, tree), () => this.#forget(partition, tree)),
  );
  readonly events = new MemoryEvents(this.#erased);
  readonly vectors = new MemoryVectors();
  readonly memory = new MemoryMemories(this.vectors);
  readonly sessions = new MemorySessions(this.#erased, (partition, session) => {
    this.memory.eraseSession(partition, session);
    void this.vectors.eraseSession(partition, session);
  });
  readonly approvals = new MemoryApprovals(
    this.#erased,
    (partition, tree) => this.runs.byTenant.getItems(partition).get(RunId.root(tree))?.userId,
  );
  readonly audit: AuditStore;
  readonly manifests = new MemoryManifests(this.#erased);
  readonly keys = new MemoryKeys();
  readonly workers = new MemoryWorkers();
  readonly apiKeys = new MemoryApiKeys();
  readonly limits = new MemoryLimits();
  readonly cache = new MemoryCacheStore(this.#erased);
  readonly webhooks = new MemoryWebhooks();
  readonly spend = new MemorySpend();

  constructor(maxFinishedTrees: number) {
    this.#finished = new LruMap({ max: maxFinishedTrees, onEvict: (_, forget) => forget() });
    this.audit = maxFinishedTrees === Infinity ? new MemoryAudit() : noAudit;
  }

  #forget(partition: Partition, tree: TreeId): void {
    const runs = this.runs.byTenant.getItems(partition);
    const root = runs.get(RunId.root(tree));
    // A conversation without a name ends with its tree.
    if (root) this.sessions.removeUnnamed(partition, { id: root.sessionId, userId: root.userId });
    for (let number = 0; runs.delete(RunId.of(tree, number)); number += 1);
    this.events.byTenant.getItems(partition).delete(tree);
    removeMatching(this.approvals.byTenant.getItems(partition), ({ treeId }) => treeId === tree);
    this.manifests.forget(partition, tree);
    this.spend.forget(partition, tree);
  }

  async eraseTree(partition: Partition, tree: TreeId): Promise<void> {
    this.#erased.addContent(partition, tree);
    await this.keys.destroy(partition, tree);
    this.manifests.eraseAll(partition, tree);
    removeMatching(this.cache.byTenant.getItems(partition), ({ entry }) => entry.treeId === tree);
    this.webhooks.dropTree(partition, tree);
  }

  async isErased(partition: Partition, tree: TreeId): Promise<boolean> {
    return this.#erased.hasContent(partition, tree);
  }

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    const theirs = [...this.runs.byTenant.getItems(partition).values()].filter(
      ({ userId }) => userId === user,
    );
    const runs = new Set(theirs.map(({ runId }) => runId));
    const trees = new Set(theirs.map(({ treeId }) => treeId));
    for (const tree of trees) {
      await this.eraseTree(partition, tree);
      this.#erased.addRecords(partition, tree);
      this.events.byTenant.getItems(partition).delete(tree);
      this.manifests.forget(partition, tree);
    }
    removeMatching(this.approvals.byTenant.getItems(partition), ({ treeId }) => trees.has(treeId));
    removeMatching(this.sessions.byTenant.getItems(partition), ({ head }) => head.userId === user);
    removeMatching(this.runs.byTenant.getItems(partition), ({ runId }) => runs.has(runId));
    removeMatching(this.cache.byTenant.getItems(partition), ({ entry }) => entry.userId === user);
    this.memory.eraseUser(partition, user);
    this.spend.eraseUser(partition, user);
    await this.vectors.eraseUser(partition, user);
    if (user !== null) this.apiKeys.revokeUser(partition.tenantId, user);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function removeMatching<Item>(items: Map<string, Item>, goes: (item: Item) => boolean): void {
  for (const [key, item] of items) if (goes(item)) items.delete(key);
}
