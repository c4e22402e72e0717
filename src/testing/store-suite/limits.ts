import assert from "node:assert/strict";
import type { RateRequest } from "#kernel";
import { createTenant, type StoreCase, storeCase } from "./harness.ts";

const now = 1_000_000;
const one = { requests: { amount: 1, perMinute: 6 } };
const rate = (tokens: number): RateRequest => ({ ...one, tokens: { amount: tokens, perMinute: 600 } });

export const limitCases: readonly StoreCase[] = [
  storeCase("a limit grants one minute's amount, then refills evenly", async ({ store, tenant }) => {
    const take = (at: number): Promise<number> => store.limits.take(tenant, "k", { rate: one, now: at });
    for (let n = 0; n < 6; n++) assert.equal(await take(now), 0);
    assert.equal(await take(now), 10_000);
    assert.equal(await take(now + 4_000), 6_000);
    assert.equal(await take(now + 10_000), 0);
    assert.equal(await take(now + 10_000), 10_000);
    assert.equal(await store.limits.take(tenant, "other", { rate: one, now }), 0);
    assert.equal(await store.limits.take(createTenant(), "k", { rate: one, now }), 0);
  }),

  storeCase(
    "a request is granted whole or not at all, and one above the limit when the limit is unused",
    async ({ store, tenant }) => {
      assert.equal(await store.limits.take(tenant, "k", { rate: rate(500), now }), 0);
      for (let n = 0; n < 9; n++)
        assert.equal(await store.limits.take(tenant, "k", { rate: rate(200), now }), 10_000);
      for (let n = 0; n < 5; n++)
        assert.equal(await store.limits.take(tenant, "k", { rate: rate(1), now }), 0);
      assert.equal(await store.limits.take(tenant, "giant", { rate: rate(9_000), now }), 0);
      assert.equal(await store.limits.take(tenant, "giant", { rate: rate(600), now }), 900_000);
    },
  ),

  storeCase(
    "excess use delays later requests, and unused permits are returned",
    async ({ store, tenant }) => {
      const hundred = { tokens: { amount: 100, perMinute: 600 } };
      assert.equal(await store.limits.take(tenant, "k", { rate: hundred, now }), 0);
      await store.limits.correct(tenant, "k", { tokens: 500 });
      assert.equal(await store.limits.take(tenant, "k", { rate: hundred, now }), 10_000);
      await store.limits.correct(tenant, "k", { tokens: -100 });
      assert.equal(await store.limits.take(tenant, "k", { rate: hundred, now }), 0);
    },
  ),

  storeCase(
    "after one request to slow down, all takers wait until that time",
    async ({ store, tenant, harness }) => {
      const other = await harness.open();
      try {
        await store.limits.slow(tenant, "k", now + 30_000);
        await other.limits.slow(tenant, "k", now + 20_000);
        assert.equal(await store.limits.take(tenant, "k", { rate: one, now }), 30_000);
        assert.equal(await other.limits.take(tenant, "k", { rate: one, now: now + 29_000 }), 1_000);
        assert.equal(await other.limits.take(tenant, "k", { rate: one, now: now + 30_000 }), 0);
      } finally {
        await other[Symbol.asyncDispose]();
      }
    },
  ),

  storeCase("many concurrent requests never get more than the limit", async ({ store, tenant, harness }) => {
    const other = await harness.open();
    try {
      const takers = Array.from({ length: 30 }, (_, n) => (n % 2 ? store : other));
      const waits = await Promise.all(
        takers.map(({ limits }) => limits.take(tenant, "k", { rate: one, now })),
      );
      assert.equal(waits.filter((wait) => wait === 0).length, 6);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),
];
