import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { agent, cache, createRuntime, redact, type Runtime, type StartOptions } from "reeve";
import { type CacheOptions } from "#agents";
import { type Engine } from "reeve/engine";
import { type Store, environmentKeys } from "reeve/store";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { manualModel, manualClock, say, scriptedModel, type ScriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../agents/passing-time.ts";
import { price } from "../agents/middleware/models.ts";
import { readable } from "../sealing/canaries.ts";

const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
const permanent = { retention: "permanent" } as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-cache-"));
});
afterAll(() => rm(folder, { recursive: true }));

const writerOf = (model: ScriptedModel, options: CacheOptions = {}) =>
  agent({ name: "writer", model, middleware: { chat: [redact(), cache({ where: "store", ...options })] } });

/** A separate worker that shares only the store. Returns the calls of a run, and its cost. */
async function ask(
  store: Store,
  options: StartOptions,
  layer: CacheOptions = {},
): Promise<readonly [calls: number, costMicros: number]> {
  const model = scriptedModel([say("done")], { price });
  const writer = writerOf(model, layer);
  await using runtime = createRuntime({ agents: [writer], store, keys });
  const result = await (await runtime.start(writer, "go", { ...permanent, ...options })).result();
  expect(result).toMatchObject({ status: "completed", output: "done" });
  return [model.requests.length, result.costMicros];
}

test("workers share answers through the store, and its files do not reveal them", async () => {
  const files = await mkdtemp(join(folder, "shared-"));
  const path = join(files, "store.db");
  const canary = "the-canary-sings";
  const asked = async (): Promise<number> => {
    const store = await sqliteStore({ path });
    const model = scriptedModel([say(`${canary} answer`)], { price });
    const writer = writerOf(model);
    const runtime = createRuntime({ agents: [writer], store, keys });
    const run = await runtime.start(writer, `${canary} question`, permanent);
    const result = await run.result();
    expect(result).toMatchObject({ status: "completed", output: `${canary} answer` });
    expect(result.costMicros).toBe(model.requests.length === 0 ? 0 : 15);
    await runtime[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    return model.requests.length;
  };
  expect(await asked()).toBe(1);
  expect(await asked()).toBe(0);
  expect(await readable(files, { canary })).toEqual([]);
});

test("a hit has a manifest: the prompt as the layer saw it, no cost, and the decision", async () => {
  const store = memoryStore();
  const model = scriptedModel([say("done")], { price });
  const writer = writerOf(model);
  await using runtime = createRuntime({ agents: [writer], store });
  const steps = async (): Promise<Awaited<ReturnType<Runtime["steps"]>>["items"]> => {
    const run = await runtime.start(writer, "Write to ada@example.com", permanent);
    await run.result();
    return (await runtime.steps(run.runId)).items;
  };
  const [called] = await steps();
  const [answered] = await steps();
  const usage = { input: 0, output: 0 };
  expect(answered?.manifest).toMatchObject({ kind: "model", finish: "stop", attempts: [{ usage }] });
  const noted = { by: "cache", layer: "middleware", decision: "answered from the store" };
  expect(answered?.manifest?.decisions).toContainEqual(noted);
  expect(called?.manifest?.decisions).not.toContainEqual(noted);
  expect(answered?.manifest?.promptHash).toBe(called?.manifest?.promptHash);
  const read = await runtime.prompt(answered?.stepId ?? "");
  expect(read.isEqual).toBe(true);
  expect(JSON.stringify(read.prompt)).toContain("[email]");
});

test("no answer crosses from one tenant or user to another", async () => {
  const store = memoryStore();
  const [acme, globex] = [{ tenant: "acme" }, { tenant: "globex" }];
  expect(await ask(store, { ...acme, user: "ann" })).toEqual([1, 15]);
  expect(await ask(store, { ...acme, user: "ann" })).toEqual([0, 0]);
  expect(await ask(store, { ...acme, user: "bob" })).toEqual([1, 15]);
  expect(await ask(store, acme)).toEqual([1, 15]);
  expect(await ask(store, { ...globex, user: "ann" })).toEqual([1, 15]);
  expect(await ask(store, {})).toEqual([1, 15]);
  const share = { share: "tenant" } as const;
  expect(await ask(store, { ...acme, user: "ann" }, share)).toEqual([1, 15]);
  expect(await ask(store, { ...acme, user: "bob" }, share)).toEqual([0, 0]);
  expect(await ask(store, { ...globex, user: "bob" }, share)).toEqual([1, 15]);
});

test.each([
  ["none", 0, 0],
  ["run", 1, 0],
  ["permanent", 1, 1],
] as const)(
  "a run with retention %s keeps %i answers, and %i after its content is erased",
  async (retention, before, after) => {
    const clock = manualClock();
    await using store = await sqliteStore({ path: join(folder, `${retention}.db`) });
    const model = scriptedModel([say("done")], { price });
    const writer = writerOf(model, { ttlS: 1_000_000 });
    const engine = local({ clock });
    await using runtime = createRuntime({ agents: [writer], engine, clock, store, keys, eraseAfterS: 300 });
    const run = await runtime.start(writer, "go", { id: "one", retention });
    await run.result();
    const again = async (id: string): Promise<number> => {
      const made = model.requests.length;
      await (await runtime.start(writer, "go", { id, ...permanent })).result();
      return 1 - (model.requests.length - made);
    };
    // The entry of the first run is not replaced by its reader.
    expect(await again("two")).toBe(before);
    if (before === 0) return;
    await clock.advance(30_000);
    await expect.poll(() => run.resultNow()).toMatchObject(retention === "run" ? { erased: true } : {});
    await clock.advance(300_000);
    const isErased = async (): Promise<boolean> =>
      store.keys.get({ tenantId: null }, run.treeId).then(
        () => retention === "permanent",
        () => true,
      );
    await expect.poll(isErased).toBe(true);
    const file = new DatabaseSync(join(folder, `${retention}.db`), { readOnly: true });
    expect(file.prepare("select count(*) as kept from reeve_cache").get()).toEqual({ kept: after });
    file.close();
    expect(await again("three")).toBe(after);
  },
);

test("ephemeral state and settings of a call are part of the cache key", async () => {
  const store = memoryStore();
  const model = scriptedModel([say("done")], { price });
  const asked = async (state: string, temperature = 0): Promise<number> => {
    const made = model.requests.length;
    const writer = agent({
      name: "writer",
      version: "1",
      model,
      settings: { temperature },
      ephemeral: [{ name: "browser", getState: () => state }],
      middleware: { chat: [cache({ where: "store" })] },
    });
    await using runtime = createRuntime({ agents: [writer], store });
    await (await runtime.start(writer, "go", permanent)).result();
    return model.requests.length - made;
  };
  expect(await asked("page of ann")).toBe(1);
  expect(await asked("page of ann")).toBe(0);
  expect(await asked("page of bob")).toBe(1);
  expect(await asked("page of ann", 1)).toBe(1);
});

test("two workers that miss at once both call, and one answer stays", async () => {
  const store = memoryStore();
  const models = [manualModel({ price }), manualModel({ price })];
  const runtimes = models.map((model) => {
    const writer = agent({ name: "writer", model, middleware: { chat: [cache({ where: "store" })] } });
    return { writer, runtime: createRuntime({ agents: [writer], store, keys }) };
  });
  const runs = await Promise.all(
    runtimes.map(({ runtime, writer }) => runtime.start(writer, "go", permanent)),
  );
  await waitUntil(() => models.every(({ calls }) => calls.length === 1));
  for (const [n, model] of models.entries()) {
    model.calls[0]?.answer(`answer ${n}`);
    await runs[n]?.result();
  }
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results).toMatchObject([
    { output: "answer 0", costMicros: 15 },
    { output: "answer 1", costMicros: 15 },
  ]);
  for (const { runtime, writer } of runtimes)
    expect(await (await runtime.start(writer, "go", permanent)).result()).toMatchObject({
      output: "answer 1",
      costMicros: 0,
    });
  for (const { runtime } of runtimes) await runtime[Symbol.asyncDispose]();
});

/** An engine that loses the record of every step once, as in a crash before it is journaled, and makes the step again. */
function losingRecords(): Engine {
  const engine = local();
  const define: Engine["define"] = (program) =>
    engine.define({
      ...program,
      run: (primitives) =>
        program.run({
          ...primitives,
          step: (name, run) =>
            primitives.step(name, async (io) => {
              await run(io);
              return run({ ...io, attempt: `${io.attempt}-again` });
            }),
        }),
    });
  return { ...engine, define };
}

/** Returns the calls and the cost of a run whose step is made twice. */
const paid = async (chat: readonly ReturnType<typeof cache>[]): Promise<readonly [number, number]> => {
  const model = scriptedModel([say("done")], { price });
  const writer = agent({ name: "writer", model, middleware: { chat } });
  await using runtime = createRuntime({ agents: [writer], engine: losingRecords(), store: memoryStore() });
  const run = await runtime.start(writer, "go", permanent);
  const result = await run.result();
  expect(result).toMatchObject({ status: "completed", output: "done" });
  return [model.requests.length, result.costMicros];
};

test("after a crash between the answer and the journal a cache pays no more than no cache", async () => {
  const [calls, cost] = await paid([]);
  expect(calls).toBe(2);
  for (const where of ["store", "process"] as const) {
    const [made, costMicros] = await paid([cache({ where })]);
    expect(made).toBe(1);
    expect(costMicros).toBeLessThan(cost);
  }
});

test.each([
  ["fails", () => Promise.reject(new Error("no connection"))],
  ["never answers", () => new Promise<never>(() => {})],
])("a cache that %s does not fail the call", async (_, answer) => {
  const store = memoryStore();
  Object.assign(store.cache, { get: answer, put: answer });
  expect(await ask(store, {})).toEqual([1, 15]);
});
