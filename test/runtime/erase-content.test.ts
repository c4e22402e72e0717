import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime, ModelError, RunId, type RunHandle, type Runtime } from "reeve";
import { type Store, environmentKeys } from "reeve/store";
import { local } from "reeve/engines/local";
import { sqliteStore } from "reeve/stores/sqlite";
import { call, type ManualClock, manualClock, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readable } from "../sealing/canaries.ts";

const day = 86_400_000;
/** Webhooks are not the subject: polls every five seconds would be most of the work of an advanced day. */
const webhooks = { pollIntervalMs: day };
const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
const canary = "the-canary-sings";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-erase-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Desk extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly run: RunHandle;
  readonly files: string;
}

/** Runs a tree whose child receives the canary, until its end. */
async function runTree(name: string, ending: "completed" | "failed" | "cancelled"): Promise<Desk> {
  const clock = manualClock();
  const store = await sqliteStore({ path: join(folder, `${name}.db`) });
  const child = agent({
    name: "child",
    instructions: canary,
    model: scriptedModel([say(`${canary} answer`)]),
  });
  const last = Promise.withResolvers<void>();
  const lead = agent({
    name: "lead",
    team: [child],
    retry: { maxRetries: 0 },
    model: {
      ...scriptedModel([call("ask_child", { task: canary })]),
      async generate({ messages }, { signal }) {
        const isFirst = messages.at(-1)?.role !== "tool";
        if (isFirst) return { ...call("ask_child", { task: canary }), usage: { input: 1, output: 1 } };
        last.resolve();
        if (ending === "failed") throw new ModelError({ kind: "auth", message: "no" });
        if (ending === "cancelled")
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return { ...say("done"), usage: { input: 1, output: 1 } };
      },
    },
  });
  const runtime = createRuntime({ agents: [lead], engine: local({ clock }), clock, store, keys, webhooks });
  const run = await runtime.start(lead, canary, { id: name, retention: "run" });
  await last.promise;
  if (ending === "cancelled") void run.cancel();
  expect((await run.result()).status).toBe(ending);
  const close = async (): Promise<void> => {
    await runtime[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  return { runtime, store, clock, run, files: folder, [Symbol.asyncDispose]: close };
}

/** The states of the content of all steps. */
async function contents({ runtime, run }: Desk): Promise<readonly string[]> {
  const runs = [0, 1].map((number) => RunId.of(run.treeId, number));
  const pages = await Promise.all(runs.map((id) => runtime.steps(id)));
  return [...new Set(pages.flatMap(({ items }) => items.map(({ content }) => content)))];
}

const isDestroyed = ({ store, run }: Desk): Promise<boolean> =>
  store.keys.get({ tenantId: null }, run.treeId).then(
    () => false,
    (error: { readonly code?: string }) => error.code === "key-destroyed",
  );

test.each(["completed", "failed", "cancelled"] as const)(
  "a tree that is %s drops its copies after 30 s; the content of its steps is unreadable after a day",
  async (ending) => {
    await using desk = await runTree(ending, ending);
    const { runtime, clock, run } = desk;
    const child = `${RunId.of(run.treeId, 1)}:model:1`;
    await clock.advance(30_000);
    await expect.poll(() => run.resultNow()).toMatchObject({ erased: true });
    expect(await runtime.prompt(child)).toMatchObject({ content: "recorded", isEqual: true });
    await clock.advance(day - 31_000);
    expect(await contents(desk)).toEqual(["recorded"]);
    expect(await isDestroyed(desk)).toBe(false);
    await clock.advance(2_000);
    await expect.poll(() => isDestroyed(desk)).toBe(true);
    expect(await contents(desk)).toEqual(["erased"]);
    const { prompt, answer, manifest } = await runtime.prompt(child);
    expect([prompt, answer, manifest]).toEqual([[], [], null]);
    const left = await runtime.store.manifests.list({ tenantId: null }, RunId.of(run.treeId, 1), { size: 9 });
    expect(left.items.map(({ body }) => body)).toEqual([null]);
    expect(await readable(desk.files, { canary })).toEqual([]);
  },
);

test("permanent content stays readable", async () => {
  await using desk = await runTree("kept", "completed");
  const { runtime, clock, run } = desk;
  const child = `${RunId.of(run.treeId, 1)}:model:1`;
  await clock.advance(30_000);
  await expect.poll(() => run.resultNow()).toMatchObject({ erased: true });
  expect(await run.keep()).toBe(4);
  expect(await run.keep()).toBe(0);
  await clock.advance(day);
  await expect.poll(() => isDestroyed(desk)).toBe(true);
  expect(await contents(desk)).toEqual(["recorded"]);
  const { isEqual, prompt } = await runtime.prompt(child);
  expect(isEqual).toBe(true);
  expect(JSON.stringify(prompt)).toContain(canary);
});

test("a runtime may make all runs permanent by default, as `reeve dev` does", async () => {
  const clock = manualClock();
  const store = await sqliteStore({ path: join(folder, "permanent.db") });
  const child = agent({ name: "child", model: scriptedModel([say("an answer")]) });
  const model = scriptedModel([call("ask_child", { task: "go" }), say("done")]);
  const lead = agent({ name: "lead", team: [child], model });
  const engine = local({ clock });
  await using runtime = createRuntime({
    agents: [lead],
    engine,
    clock,
    store,
    webhooks,
    retention: "permanent",
  });
  const run = await runtime.start(lead, "go");
  await run.result();
  await clock.advance(2 * day);
  const { content } = await runtime.prompt(`${RunId.of(run.treeId, 1)}:model:1`);
  expect(content).toBe("recorded");
});
