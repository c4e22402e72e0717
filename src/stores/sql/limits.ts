import { Json, type LimitStore, LimitState, type RateRequest, type Partition } from "#kernel";
import type { Access } from "./access.ts";

/** One row per limit. It is locked for a single statement only, never while a caller waits. */
export class SqlLimits implements LimitStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async take(
    partition: Partition,
    key: string,
    { rate, now }: { readonly rate: RateRequest; readonly now: number },
  ): Promise<number> {
    return this.#change(partition, key, (state) => LimitState.take(state, rate, now));
  }

  async correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void> {
    await this.#change(partition, key, (state) => ({ state: LimitState.correct(state, used), waitMs: 0 }));
  }

  async slow(partition: Partition, key: string, until: number): Promise<void> {
    await this.#change(partition, key, (state) => ({ state: LimitState.slow(state, until), waitMs: 0 }));
  }

  #change(
    partition: Partition,
    key: string,
    decide: (state: LimitState) => { readonly state: LimitState; readonly waitMs: number },
  ): Promise<number> {
    return this.#access.write(partition, async (db, tenant) => {
      // A write without changes locks the row, in both databases, before it is read.
      const row = await db
        .insertInto("reeve_limit")
        .values({ tenant_id: tenant, key, body: JSON.stringify(LimitState.none) })
        .onConflict((conflict) =>
          conflict.columns(["tenant_id", "key"]).doUpdateSet((eb) => ({ body: eb.ref("reeve_limit.body") })),
        )
        .returning("body")
        .executeTakeFirstOrThrow();
      const { state, waitMs } = decide(Json.as<LimitState>(JSON.parse(row.body)));
      await db
        .updateTable("reeve_limit")
        .set({ body: JSON.stringify(state) })
        .where((eb) => eb.and({ tenant_id: tenant, key }))
        .execute();
      return waitMs;
    });
  }
}
