import { agent, ChatMessage, createRuntime, UserId, type Model } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { copyStore, SessionId, type Store } from "#kernel";

const noTenant = { tenantId: null };
const ada = UserId.of("ada");
const canary = "the canary sings";

/** A model that answers once the test lets it. */
function createSlowModel(): {
  readonly model: Model;
  readonly called: Promise<void>;
  readonly answer: () => void;
} {
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const model: Model = {
    id: "slow",
    async generate() {
      called.resolve();
      await gate.promise;
      const usage = { input: 1, output: 1 };
      return { message: ChatMessage.assistant(canary), usage, finishReason: "stop" };
    },
  };
  return { model, called: called.promise, answer: () => gate.resolve() };
}

test("a turn that is under way when its user is erased in the store ends without being saved", async () => {
  const { model, called, answer } = createSlowModel();
  const writer = agent({ name: "writer", model });
  const store = memoryStore();
  await using runtime = createRuntime({ agents: [writer], store });
  const talk = await runtime.sessions.create(writer, { id: "talk", user: "ada" });
  const run = await talk.start(canary);
  await called;
  const listed = async (): Promise<number> => (await runtime.runs.list({ userId: ada })).items.length;
  await expect.poll(listed).toBe(1);
  // Not the runtime's store, which would cancel the turn first.
  await store.eraseUser(noTenant, ada);
  answer();
  const { status, error } = await run.result();
  expect([status, error?.code]).toEqual(["failed", "turn-lost"]);
  await talk.waitForIdle();
  await expect.poll(() => runtime.lagMs).toBe(0);
  expect((await runtime.runs.list({ userId: ada })).items).toEqual([]);
  expect((await runtime.sessions.list({ user: "ada", unnamed: true })).items).toEqual([]);
  expect((await runtime.steps(run.runId)).items).toEqual([]);
});

test("a turn whose conversation was removed in the store ends without being saved", async () => {
  const { model, called, answer } = createSlowModel();
  const writer = agent({ name: "writer", model });
  const store = memoryStore();
  await using runtime = createRuntime({ agents: [writer], store });
  const talk = await runtime.sessions.create(writer, { id: "talk" });
  const run = await talk.start(canary);
  await called;
  const key = { id: SessionId.of("talk"), userId: null };
  const written = async (): Promise<number> =>
    (await store.sessions.entries(noTenant, key, { after: null, limit: 9 })).length;
  await expect.poll(written).toBeGreaterThan(0);
  await store.sessions.remove(noTenant, key);
  answer();
  const { status, error } = await run.result();
  expect([status, error]).toMatchObject(["failed", { code: "turn-lost", reason: "removed" }]);
  expect((await runtime.sessions.list({ unnamed: true })).items).toEqual([]);
});

test.each([true, false])(
  "a conversation is deleted whole if the engine no longer has its tree, and the store lists it: %j",
  async (isListed) => {
    const store = memoryStore();
    const { runs } = store;
    const unlisted = {
      ...copyStore(store),
      runs: {
        put: async () => undefined,
        list: runs.list.bind(runs),
        search: runs.search.bind(runs),
        live: runs.live.bind(runs),
        tree: runs.tree.bind(runs),
      },
    };
    const open = (on: Store): ReturnType<typeof createRuntime> =>
      createRuntime({ agents: [agent({ name: "writer", model: scriptedModel([say(canary)]) })], store: on });
    const first = open(isListed ? store : unlisted);
    const [writer] = first.agents;
    if (!writer) throw new Error("no agent");
    const before = await first.sessions.create(writer, { id: "talk" });
    const run = await before.start("sing", { id: "turn" });
    await run.result();
    await before.waitForIdle();
    const listed = async (): Promise<unknown> => (await first.runs.list()).items[0]?.endedAt ?? undefined;
    await expect.poll(async () => !isListed || (await listed()) !== undefined).toBe(true);
    await first[Symbol.asyncDispose]();
    await using second = open(store);
    expect((await second.runs.list()).items.length).toBe(isListed ? 1 : 0);
    const [step] = (await second.steps("turn~0")).items;
    expect(JSON.stringify(await second.prompt(step?.stepId ?? ""))).toContain(canary);
    await (await second.sessions.get("talk")).delete();
    expect(await second.store.isErased(noTenant, run.treeId)).toBe(true);
    expect((await second.steps("turn~0")).items).toMatchObject([{ content: "erased" }]);
    expect(JSON.stringify(await second.prompt(step?.stepId ?? ""))).not.toContain(canary);
  },
);
