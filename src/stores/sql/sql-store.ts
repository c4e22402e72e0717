import type { Partition, Store, TreeId, UserId } from "#kernel";
import type { Access } from "./access.ts";
import { SqlApiKeys } from "./api-keys.ts";
import { SqlApprovals } from "./approvals.ts";
import { SqlAudit } from "./audit.ts";
import type { ChangeNotifier } from "./change-notifier.ts";
import { SqlCache } from "./cache.ts";
import { eraseUser, treesOf } from "./erase-user.ts";
import { eraseTree, isErased } from "./erased-trees.ts";
import { SqlEvents, type Tell } from "./events.ts";
import { SqlKeys } from "./keys.ts";
import { SqlLimits } from "./limits.ts";
import { SqlManifests } from "./manifests.ts";
import { SqlMemories } from "./memories.ts";
import { SqlRuns } from "./runs.ts";
import { SqlSessions } from "./sessions.ts";
import { SqlSpend } from "./spend.ts";
import { SqlVectors } from "./vectors.ts";
import { SqlWebhooks } from "./webhooks.ts";
import { SqlWorkers } from "./workers.ts";

/** The database-specific parts of a store. */
export interface Database {
  readonly access: Access;
  readonly notifier: ChangeNotifier;
  readonly tell: Tell;
  close(): Promise<void>;
}

/** The store on any database that speaks this SQL. */
export class SqlStore implements Store {
  readonly durable = true;
  readonly runs: SqlRuns;
  readonly events: SqlEvents;
  readonly sessions: SqlSessions;
  readonly memory: SqlMemories;
  readonly vectors: SqlVectors;
  readonly approvals: SqlApprovals;
  readonly audit: SqlAudit;
  readonly manifests: SqlManifests;
  readonly keys: SqlKeys;
  readonly workers: SqlWorkers;
  readonly apiKeys: SqlApiKeys;
  readonly limits: SqlLimits;
  readonly cache: SqlCache;
  readonly webhooks: SqlWebhooks;
  readonly spend: SqlSpend;
  readonly #database: Database;

  constructor(database: Database) {
    const { access, notifier } = database;
    this.#database = database;
    this.runs = new SqlRuns(access);
    this.events = new SqlEvents(access, notifier, database.tell);
    this.sessions = new SqlSessions(access);
    this.memory = new SqlMemories(access);
    this.vectors = new SqlVectors(access);
    this.approvals = new SqlApprovals(access);
    this.audit = new SqlAudit(access);
    this.manifests = new SqlManifests(access);
    this.keys = new SqlKeys(access);
    this.workers = new SqlWorkers(access);
    this.apiKeys = new SqlApiKeys(access);
    this.limits = new SqlLimits(access);
    this.cache = new SqlCache(access);
    this.webhooks = new SqlWebhooks(access);
    this.spend = new SqlSpend(access);
  }

  async eraseTree(partition: Partition, tree: TreeId): Promise<void> {
    await eraseTree(this.#database.access, { partition, tree, part: "content" });
    await this.webhooks.dropTree(partition, tree);
  }

  async isErased(partition: Partition, tree: TreeId): Promise<boolean> {
    return this.#database.access.read(partition, (db, tenant) =>
      isErased(db, tenant, { tree, part: "content" }),
    );
  }

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    // First: a key that outlives its user's data would still act for that user.
    if (user !== null) await this.apiKeys.revokeUser(partition.tenantId, user);
    const { access } = this.#database;
    // Before the runs, through which they are found.
    const trees = await access.read(partition, (db, tenant) => treesOf(db, tenant, user));
    for (const tree of trees) {
      await eraseTree(access, { partition, tree, part: "records" });
      await this.webhooks.dropTree(partition, tree);
    }
    await access.write(partition, (db, tenant) => eraseUser(db, tenant, user), { erases: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
    this.#database.notifier.close();
  }
}
