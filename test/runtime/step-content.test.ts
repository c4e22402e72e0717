import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, type ChatMiddleware, ChatMessage, type ModelRequest, RunId, tool, TreeId } from "reeve";
import { type StepId, type Store, environmentKeys } from "reeve/store";
import { type StepPrompt } from "#runtime";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { call, fail, manualClock, say, scriptedModel, testRuntime, type TestRuntime } from "reeve/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const look = tool({
  name: "look",
  description: "looks something up",
  input: z.object({ q: z.string() }),
  risk: "safe",
  execute: async ({ q }) => `found ${q}`,
});

/** The steps of a run with their content. */
async function readRun({ runtime }: TestRuntime, run: RunId): Promise<readonly StepPrompt[]> {
  const { items } = await runtime.steps(run);
  const inOrder = items.toSorted((a, b) => numberOf(a.stepId) - numberOf(b.stepId));
  return Promise.all(inOrder.map(({ stepId }) => runtime.prompt(stepId)));
}

/** The place of a step in its run: two may begin in the same millisecond. */
const numberOf = (step: StepId): number => Number(step.split(":")[2]);

const rootOf = (tree: string): RunId => RunId.root(TreeId.of(tree));

/** The messages and tools of a request in the order of a manifest. */
function sent({ messages, tools }: ModelRequest): readonly unknown[] {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const [system, ...rest] = messages;
  return JSON.parse(JSON.stringify([system, ...(shown.length > 0 ? [shown] : []), ...rest]));
}

const stores: readonly (readonly [name: string, open: (path: string) => Promise<Store>])[] = [
  ["memory", async () => memoryStore()],
  ["sealed SQLite", (path) => sqliteStore({ path })],
];
const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });

describe.each(stores)("%s", (_, open) => {
  test.each([false, true])("prompts of a conversation are built again (replay: %s)", async (replay) => {
    const folder = await mkdtemp(join(tmpdir(), "reeve-steps-"));
    const store = await open(join(folder, "store.db"));
    const model = scriptedModel([
      say("one"),
      call("look", { q: "a" }),
      say("two"),
      call("look", { q: "b" }, ["look", { q: "c" }]),
      fail(new Error("broken")),
      say("four"),
    ]);
    const lead = agent({ name: "lead", instructions: "Terse.", model, tools: [look] });
    {
      await using t = testRuntime({ agents: [lead], store, replay, keys });
      const talk = await t.runtime.sessions.create(lead, { id: "s" });
      for (const n of [0, 1, 2, 3]) await talk.invoke(`question ${n}`, { id: `t${n}` });
      const steps = (await Promise.all([0, 1, 2, 3].map((n) => readRun(t, rootOf(`t${n}`))))).flat();
      expect(steps.map(({ content }) => content)).toEqual(steps.map(() => "recorded"));
      const models = steps.filter(({ manifest }) => manifest?.kind === "model");
      expect(models.map(({ isEqual }) => isEqual)).toEqual(model.requests.map(() => true));
      expect(models.map(({ prompt }) => prompt.map(({ content }) => content))).toEqual(
        model.requests.map(sent),
      );
      expect(models[1]?.answer[0]?.content).toMatchObject({ content: [{ name: "look", input: { q: "a" } }] });
      const tools = steps.filter(({ manifest }) => manifest?.kind === "tool");
      expect(tools.map(({ prompt }) => prompt[0]?.content)).toEqual([{ q: "a" }, { q: "b" }, { q: "c" }]);
      expect(tools[0]?.answer[0]?.content).toMatchObject({ value: "found a" });
      const failed = models[4];
      expect(failed?.manifest?.attempts[0]?.error).toMatchObject({ code: expect.any(String) });
    }
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
});

const rewrite: ChatMiddleware = {
  process: async (context, next) => {
    context.messages = [...context.messages, ChatMessage.user("added by middleware")];
    await next();
  },
};

test("a prompt is recorded as middleware sent it, and as it was sent to a child", async () => {
  const inner = scriptedModel([call("look", { q: "a" }), say("found")]);
  const child = agent({
    name: "child",
    instructions: "Find.",
    model: inner,
    tools: [look],
    middleware: { chat: [rewrite] },
  });
  const outer = scriptedModel([call("ask_child", { task: "go" }), say("done")]);
  const lead = agent({ name: "lead", model: outer, team: [child] });
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  const run = await t.start(lead, "start", { id: "t" });
  await run.result();
  const theirs = await readRun(t, RunId.of(TreeId.of("t"), 1));
  const models = theirs.filter(({ manifest }) => manifest?.kind === "model");
  expect(models.map(({ isEqual }) => isEqual)).toEqual([true, true]);
  expect(models.map(({ prompt }) => prompt.map(({ content }) => content))).toEqual(inner.requests.map(sent));
  expect(JSON.stringify(models[1]?.prompt)).toContain("added by middleware");
  const items = await readRun(t, rootOf("t"));
  expect(items.map(({ content, manifest }) => [content, manifest?.name])).toEqual([
    ["recorded", outer.id],
    ["recorded", "ask_child"],
    ["recorded", outer.id],
  ]);
});

test("a store that fails loses the manifest, not the step, and the step is listed as not recorded", async () => {
  const store = memoryStore();
  const { manifests } = store;
  const put = manifests.put.bind(manifests);
  let writes = 0;
  manifests.put = async (...given) => {
    writes += 1;
    if (writes === 1) throw new Error("no store");
    return put(...given);
  };
  const model = scriptedModel([call("look", { q: "a" }), say("done")]);
  const lead = agent({ name: "lead", model, tools: [look] });
  await using t = testRuntime({ agents: [lead], store });
  const run = await t.start(lead, "start", { id: "t" });
  expect((await run.result()).output).toBe("done");
  await t.events(run);
  const steps = await readRun(t, rootOf("t"));
  expect(steps.map(({ stepId, content }) => [stepId, content])).toEqual([
    ["t~0:model:1", "not-recorded"],
    ["t~0:tool:2", "recorded"],
    ["t~0:model:3", "recorded"],
  ]);
  expect(await t.runtime.prompt("t~0:model:1")).toMatchObject({ content: "not-recorded", isEqual: false });
  // Texts that were lost with it are written by the next one.
  expect(await t.runtime.prompt("t~0:model:3")).toMatchObject({ content: "recorded", isEqual: true });
  await expect(t.runtime.prompt("t~0:model:9")).rejects.toMatchObject({ code: "not-found" });
});

test("a store that hangs delays a step by two seconds at most", async () => {
  const clock = manualClock();
  const store = memoryStore();
  const asked = Promise.withResolvers<void>();
  store.manifests.put = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const lead = agent({ name: "lead", model: scriptedModel([say("done")]) });
  await using t = testRuntime({ agents: [lead], store, clock });
  const run = await t.start(lead, "start");
  await asked.promise;
  await clock.advance(2_000);
  expect((await run.result()).output).toBe("done");
});

test("the prompt of a dropped turn is built again although its messages were never written", async () => {
  const store = memoryStore();
  store.sessions.append = async () => {
    throw new Error("the connection is cut");
  };
  const model = scriptedModel([fail(new Error("broken"))]);
  const lead = agent({ name: "lead", instructions: "Terse.", model });
  await using t = testRuntime({ agents: [lead], store });
  const run = await t.start(lead, "start", { id: "t" });
  expect((await run.result()).status).toBe("failed");
  await t.events(run);
  const prompt = await t.runtime.prompt("t~0:model:1");
  expect(prompt).toMatchObject({ content: "recorded", isEqual: true });
  expect(prompt.prompt.map(({ content }) => content)).toEqual(model.requests.flatMap(sent));
});

test("a manifest waits for messages that are being written, and names them as entries", async () => {
  const store = memoryStore();
  const append = store.sessions.append.bind(store.sessions);
  const isAnswered = Promise.withResolvers<void>();
  store.sessions.append = async (...given) => {
    await isAnswered.promise;
    return append(...given);
  };
  const answered = scriptedModel([say("done")]);
  const model = {
    ...answered,
    generate: async (...given: Parameters<typeof answered.generate>) => {
      const answer = await answered.generate(...given);
      setImmediate(isAnswered.resolve);
      return answer;
    },
  };
  const lead = agent({ name: "lead", model });
  await using t = testRuntime({ agents: [lead], store });
  await (await t.start(lead, "start", { id: "t" })).result();
  const { prompt } = await t.runtime.prompt("t~0:model:1");
  expect(prompt.map(({ role, entry }) => [role, entry])).toEqual([["user", "t~0.1"]]);
});

test("a run that keeps nothing writes no text, and one with record off no manifest", async () => {
  const store = memoryStore();
  const lead = agent({ name: "lead", instructions: "Terse.", model: scriptedModel([say("done")]) });
  const texts: unknown[] = [];
  const put = store.manifests.put.bind(store.manifests);
  store.manifests.put = (partition, manifest, given) => {
    texts.push(...given);
    return put(partition, manifest, given);
  };
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "start", { id: "t", retention: "none" });
  const { prompt, isEqual } = await t.runtime.prompt("t~0:model:1");
  expect(prompt.map(({ role, content, missing }) => [role, content, missing])).toEqual([
    ["system", null, "not-stored"],
    ["user", null, "not-stored"],
  ]);
  expect([isEqual, texts]).toEqual([false, []]);
  await using off = testRuntime({ agents: [lead], store, record: "off" });
  await off.run(lead, "start", { id: "u" });
  expect((await store.manifests.list({ tenantId: null }, rootOf("u"), { size: 9 })).items).toEqual([]);
});
