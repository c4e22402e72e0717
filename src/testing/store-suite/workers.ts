import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Store, WorkerRecord } from "#kernel";
import { type StoreCase, storeCase } from "./harness.ts";

const url = "http://10.0.0.7:9082/deltas/x";
const worker = (expiresAt: number): WorkerRecord => ({
  id: randomUUID(),
  url,
  expiresAt,
  lagMs: 0,
  failedWrites: 0,
  reducedTrees: 0,
});

/** Returns only these workers: the database may hold others from earlier runs. */
async function listWorkers(
  { workers }: Store,
  at: number,
  ...own: readonly WorkerRecord[]
): Promise<unknown> {
  const ids = new Set(own.map(({ id }) => id));
  return (await workers.list(at)).filter(({ id }) => ids.has(id));
}

export const workerCases: readonly StoreCase[] = [
  storeCase("a worker is on the list of every process until it expires or leaves", async (desk) => {
    const { store, harness } = desk;
    const [one, other] = [worker(2_000), worker(3_000)].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.ok(one && other);
    await store.workers.announce(other, 1_000);
    await store.workers.announce(one, 1_000);
    assert.deepEqual(await listWorkers(store, 1_999, one, other), [one, other]);
    const lasting = [one, other].filter(({ expiresAt }) => expiresAt > 2_000);
    assert.deepEqual(await listWorkers(store, 2_000, one, other), lasting);
    const elsewhere = await harness.open();
    assert.deepEqual(await listWorkers(elsewhere, 1_999, one, other), [one, other]);
    await elsewhere.workers.withdraw(one.id);
    await elsewhere.workers.withdraw(one.id);
    assert.deepEqual(await listWorkers(store, 1_999, one, other), [other]);
    await elsewhere[Symbol.asyncDispose]();
  }),

  storeCase(
    "a worker that is announced again stays longer, moves, and reports its delay and failures",
    async ({ store }) => {
      const first = worker(2_000);
      const moved = {
        ...first,
        url: "http://10.0.0.8:9082/deltas/y",
        expiresAt: 4_000,
        lagMs: 12_000,
        failedWrites: 3,
      };
      await store.workers.announce(first, 1_000);
      await store.workers.announce(moved, 2_500);
      assert.deepEqual(await listWorkers(store, 3_000, first), [moved]);
    },
  ),

  storeCase("an announcing worker removes expired workers", async ({ store }) => {
    const [gone, here] = [worker(2_000), worker(5_000)];
    await store.workers.announce(gone, 1_000);
    await store.workers.announce(here, 2_000);
    assert.deepEqual(await listWorkers(store, 1_500, gone, here), [here]);
  }),
];
