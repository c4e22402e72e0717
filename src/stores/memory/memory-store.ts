import type { Partition, Store, UserId } from "#kernel";
import { MemoryApiKeys } from "./api-keys.ts";
import { MemoryApprovals } from "./approvals.ts";
import { MemoryAudit } from "./audit.ts";
import { MemoryEvents } from "./events.ts";
import { MemoryFacts } from "./facts.ts";
import { MemoryKeys } from "./keys.ts";
import { MemoryLimits } from "./limits.ts";
import { MemoryManifests } from "./manifests.ts";
import { MemoryRuns } from "./runs.ts";
import { MemorySessions } from "./sessions.ts";
import { MemoryWorkers } from "./workers.ts";

/** A store in this process, gone with it: for tests and the first five minutes. */
export function memoryStore(): Store {
  return new Memory();
}

class Memory implements Store {
  readonly lasts = false;
  readonly runs = new MemoryRuns();
  readonly events = new MemoryEvents();
  readonly sessions = new MemorySessions();
  readonly memory = new MemoryFacts();
  readonly approvals = new MemoryApprovals();
  readonly audit = new MemoryAudit();
  readonly manifests = new MemoryManifests();
  readonly keys = new MemoryKeys();
  readonly workers = new MemoryWorkers();
  readonly apiKeys = new MemoryApiKeys();
  readonly limits = new MemoryLimits();

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    const theirs = [...this.runs.shelf.of(partition).values()].filter(({ userId }) => userId === user);
    const runs = new Set(theirs.map(({ runId }) => runId));
    const trees = new Set(theirs.map(({ treeId }) => treeId));
    for (const tree of trees) {
      await this.keys.destroy(partition, tree);
      this.events.shelf.of(partition).delete(tree);
    }
    remove(this.approvals.shelf.of(partition), ({ treeId }) => trees.has(treeId));
    remove(this.manifests.shelf.of(partition), ({ runId }) => runs.has(runId));
    remove(this.sessions.shelf.of(partition), ({ head }) => head.userId === user);
    remove(this.runs.shelf.of(partition), ({ runId }) => runs.has(runId));
    this.memory.shelf.of(partition).delete(user ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function remove<Item>(items: Map<string, Item>, goes: (item: Item) => boolean): void {
  for (const [key, item] of items) if (goes(item)) items.delete(key);
}
