import type { Partition, WorkerRecord, WorkerStore } from "#kernel";
import type { Access } from "./access.ts";

const noTenant: Partition = { tenantId: null };

export class SqlWorkers implements WorkerStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async announce(
    { id, url, expiresAt, lagMs, failedWrites, reducedTrees }: WorkerRecord,
    at: number,
  ): Promise<void> {
    const place = {
      url,
      expires_at: expiresAt,
      lag_ms: lagMs,
      failed_writes: failedWrites,
      reduced_trees: reducedTrees,
    };
    await this.#access.write(noTenant, async (db, tenant) => {
      const gone = db.deleteFrom("reeve_worker").where("tenant_id", "=", tenant);
      await gone.where("expires_at", "<=", at).execute();
      await db
        .insertInto("reeve_worker")
        .values({ tenant_id: tenant, worker_id: id, ...place })
        .onConflict((conflict) => conflict.columns(["tenant_id", "worker_id"]).doUpdateSet(place))
        .execute();
    });
  }

  async list(at: number): Promise<readonly WorkerRecord[]> {
    const rows = await this.#access.read(noTenant, (db, tenant) =>
      db
        .selectFrom("reeve_worker")
        .select(["worker_id", "url", "expires_at", "lag_ms", "failed_writes", "reduced_trees"])
        .where("tenant_id", "=", tenant)
        .where("expires_at", ">", at)
        .orderBy("worker_id")
        .execute(),
    );
    return rows.map((row) => ({
      id: row.worker_id,
      url: row.url,
      expiresAt: row.expires_at,
      lagMs: row.lag_ms,
      failedWrites: row.failed_writes,
      reducedTrees: row.reduced_trees,
    }));
  }

  async withdraw(id: string): Promise<void> {
    await this.#access.write(noTenant, (db, tenant) =>
      db
        .deleteFrom("reeve_worker")
        .where((eb) => eb.and({ tenant_id: tenant, worker_id: id }))
        .execute(),
    );
  }
}
