import { createRuntime } from "reeve";
import { local } from "reeve/engines/local";
import { apiKeys, createApiKey } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, test, vi } from "vitest";
import { systemClock } from "#base";
import type { Clock } from "#kernel";
import { closing } from "./closing.ts";
import { counter, TestServer } from "./test-server.ts";

test("the delay of the store and its failures are those of the process in the worst state, here or elsewhere", async () => {
  let skippedMs = 0;
  const clock: Clock = {
    now: () => systemClock.now() + skippedMs,
    waitUntil: (at, signal) => systemClock.waitUntil(at - skippedMs, signal),
    callAt: (at, act, options) => systemClock.callAt(at - skippedMs, act, options),
  };
  const store = memoryStore();
  const { key, record } = createApiKey({
    tenant: null,
    scopes: ["read"],
    expiresAt: clock.now() + 1_000_000,
  });
  const runtime = createRuntime({ agents: [counter], store, clock, engine: local({ clock }) });
  const site = closing(await TestServer.open({ runtime, auth: apiKeys([record], { clock }) }));
  const status = async (): Promise<unknown> => (await site.get("/status", { key })).json;
  expect(await status()).toMatchObject({ store: "ready", lagMs: 0, failedWrites: 0, reducedTrees: 0 });
  // Another process is behind, until it says otherwise or is gone.
  const other = {
    id: "w",
    url: "http://10.0.0.7:9082/deltas/x",
    expiresAt: clock.now() + 600_000,
    lagMs: 12_000,
    failedWrites: 4,
    reducedTrees: 2,
  };
  await store.workers.announce(other, clock.now());
  expect(await status()).toMatchObject({ store: "ready", lagMs: 12_000, failedWrites: 4, reducedTrees: 2 });
  await store.workers.announce({ ...other, lagMs: 3, failedWrites: 0, reducedTrees: 0 }, clock.now());
  expect(await status()).toMatchObject({ lagMs: 3 });
  // This process has had no answer from the store for 20 seconds.
  const append = store.events.append.bind(store.events);
  const answer = Promise.withResolvers<void>();
  const writing = vi.spyOn(store.events, "append").mockImplementation(async (...given) => {
    await answer.promise;
    return append(...given);
  });
  const run = await runtime.start(counter, "go");
  await expect.poll(() => writing.mock.calls.length).toBeGreaterThan(0);
  skippedMs += 20_000;
  expect(runtime.lagMs).toBeGreaterThanOrEqual(20_000);
  expect(await status()).toMatchObject({ lagMs: expect.toSatisfy((lagMs: number) => lagMs >= 20_000) });
  answer.resolve();
  await run.cancel();
  await expect.poll(status).toMatchObject({ lagMs: 3 });
});

test("the delay of a store that does not answer is unknown", async () => {
  const store = memoryStore();
  const site = closing(await TestServer.open({ runtime: createRuntime({ agents: [counter], store }) }));
  vi.spyOn(store.workers, "list").mockRejectedValue(new Error("gone"));
  expect((await site.get("/status")).json).toMatchObject({ store: "no-answer", lagMs: null });
});
