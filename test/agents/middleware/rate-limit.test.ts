import { createOpenAI } from "@ai-sdk/openai";
import { agent, languageModel, rateLimit } from "reeve";
import { type RateLimitOptions } from "#agents";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { answers, manualClock, say, scriptedModel, testRuntime } from "reeve/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDouble } from "../../testing/real-providers.ts";
import { eventsOf } from "../events-of.ts";
import { passTimeUntil } from "../passing-time.ts";
import { broken, price } from "./models.ts";

const start = Date.UTC(2026, 0, 1);

/** Runs so many runs at once on one clock; gives the second at which each call reached its model. */
async function timesOf(runs: number, options: RateLimitOptions): Promise<readonly number[]> {
  const clock = manualClock(start);
  const times: number[] = [];
  const inner = scriptedModel([say("done")], { price });
  const model = {
    ...inner,
    generate: (...given: Parameters<typeof inner.generate>) => {
      times.push((clock.now() - start) / 1_000);
      return inner.generate(...given);
    },
  };
  const worker = agent({ name: "worker", model, middleware: { chat: [rateLimit(options)] } });
  await using t = testRuntime({ agents: [worker], clock });
  const all = Promise.all(Array.from({ length: runs }, () => t.run(worker, "go")));
  for (const { status } of await passTimeUntil(clock, all)) expect(status).toBe("completed");
  return times;
}

test("calls beyond the limit wait: briefly inside the step, longer outside it", async () => {
  const times = await timesOf(5, { key: "waits", requestsPerMinute: 3 });
  const [first = 0, second, third, fourth, fifth] = times;
  expect([second, third]).toEqual([first, first]);
  expect(fourth).toBeGreaterThanOrEqual(first + 20);
  expect(fifth).toBeGreaterThanOrEqual(first + 40);
});

test("tokens are estimated before a call and corrected after it, and later calls wait for the excess", async () => {
  await timesOf(1, { key: "tokens", tokensPerMinute: 5 });
  const [second] = await timesOf(1, { key: "tokens", tokensPerMinute: 5 });
  // 15 were used, so 10 are owed: two minutes, and a little for the next.
  expect(second).toBeGreaterThan(120);
});

test("a limit without a store is shared in the process by all users of its key", async () => {
  await timesOf(2, { key: "shared", requestsPerMinute: 2 });
  const times = await timesOf(1, { key: "shared", requestsPerMinute: 2 });
  expect(times[0]).toBeGreaterThanOrEqual(30);
  expect((await timesOf(1, { key: "other", requestsPerMinute: 2 }))[0]).toBeLessThan(30);
});

test("one 429 makes every process wait, without a 429 of their own", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-limit-"));
  const path = join(folder, "store.db");
  const [mine, theirs] = [await sqliteStore({ path }), await sqliteStore({ path })];
  try {
    const clock = manualClock(start);
    const hit = scriptedModel([broken("rate-limit", 30_000), say("late")], { id: "hit", price });
    const one = agent({
      name: "one",
      model: hit,
      retry: { maxRetries: 0 },
      middleware: { chat: [rateLimit({ key: "account", store: mine })] },
    });
    await using first = testRuntime({ agents: [one], clock });
    expect(await first.run(one, "go")).toMatchObject({ status: "failed", error: { kind: "rate-limit" } });

    let calledAt = 0;
    const spared = scriptedModel([say("done")], { id: "spared", price });
    const model = {
      ...spared,
      generate: (...given: Parameters<typeof spared.generate>) => {
        calledAt = clock.now();
        return spared.generate(...given);
      },
    };
    const other = agent({
      name: "other",
      model,
      middleware: { chat: [rateLimit({ key: "account", store: theirs })] },
    });
    await using second = testRuntime({ agents: [other], clock });
    expect(await passTimeUntil(clock, second.run(other, "go"))).toMatchObject({
      status: "completed",
      output: "done",
    });
    expect(calledAt - start).toBeGreaterThanOrEqual(30_000);
    expect(spared.requests).toHaveLength(1);
  } finally {
    await Promise.all([mine, theirs].map((store) => store[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true });
  }
});

test("after a provider's Retry-After the built-in retry repeats the call, and the layer sees every attempt", async () => {
  const fault = { kind: "rate-limit", retryAfterS: 1 } as const;
  const double = await openDouble({ script: answers([{ fault }, "Done."]) });
  const { baseURL } = double;
  const given = createOpenAI({ baseURL, apiKey: "secret" }).chat("double-1");
  const model = languageModel(given, { price, maxOutputTokens: 400 });
  const store = memoryStore();
  const slowed: number[] = [];
  const { limits } = store;
  const spied = {
    limits: {
      take: limits.take.bind(limits),
      correct: limits.correct.bind(limits),
      slow: (...told: Parameters<typeof limits.slow>) => {
        slowed.push(told[2]);
        return limits.slow(...told);
      },
    },
  };
  const middleware = { chat: [rateLimit({ key: "http", store: spied, requestsPerMinute: 60 })] };
  const worker = agent({ name: "worker", model, retry: { baseMs: 1 }, middleware });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "Done." });
  expect(double.bill.entries).toHaveLength(2);
  expect(slowed).toHaveLength(1);
  expect(eventsOf(await t.events(run), "retry.start").map(({ retry }) => retry)).toEqual([1]);
});

test("a per-tenant limit is not used up by another tenant", async () => {
  const clock = manualClock(start);
  const model = scriptedModel([say("done")], { price });
  const limit = rateLimit({ key: "own", store: memoryStore(), requestsPerMinute: 1, share: "tenant" });
  const worker = agent({ name: "worker", model, middleware: { chat: [limit] } });
  await using t = testRuntime({ agents: [worker], clock });
  for (const tenant of ["acme", "globex"])
    expect(await t.run(worker, "go", { tenant })).toMatchObject({ status: "completed" });
  expect(clock.now()).toBe(start);
});

test("a per-user limit is not used up by another user, or by the same name in another tenant", async () => {
  const clock = manualClock(start);
  const model = scriptedModel([say("done")], { price });
  const limit = rateLimit({ key: "own", store: memoryStore(), requestsPerMinute: 1, share: "user" });
  const worker = agent({ name: "worker", model, middleware: { chat: [limit] } });
  await using t = testRuntime({ agents: [worker], clock });
  const starts = [
    { tenant: "acme", user: "ann" },
    { tenant: "acme", user: "bob" },
    { tenant: "acme" },
    { tenant: "globex", user: "ann" },
  ];
  for (const whose of starts) expect(await t.run(worker, "go", whose)).toMatchObject({ status: "completed" });
  expect(clock.now()).toBe(start);
});
