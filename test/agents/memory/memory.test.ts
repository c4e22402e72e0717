import { agent, cache, ChatMessage, Json, memory, tool, UserId, type Model } from "reeve";
import { MemoryOwner, Partition, type Store } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const ada = MemoryOwner.user(UserId.of("ada"));
const acme = Partition.of("acme");
const request = { tenant: "acme", user: "ada" } as const;

const remembers = memory({
  blocks: {
    human: { limit: 200, description: "The user" },
    project: { limit: 400, shared: "tenant" },
    scratch: { limit: 100, shared: "session" },
  },
  facts: true,
});

const systems = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) => (first ? ChatMessage.text(first) : ""));

const lastResult = ({ requests }: ScriptedModel): Json => {
  const block = requests
    .at(-1)
    ?.messages.findLast(({ role }) => role === "tool")
    ?.content.at(0);
  const text = block?.type === "tool-result" ? block.content[0] : undefined;
  return text?.type === "text" ? Json.of(JSON.parse(text.text)) : null;
};

const worker = (model: Model, name = "worker") => agent({ name, model, extensions: [remembers] });

const edit = (block: string, from: string, to: string) =>
  call("edit_block", { block, old_text: from, new_text: to });

test("blocks are shown whole with their fill, and a later turn of the user sees an edit", async () => {
  const model = scriptedModel([
    edit("human", "", "Drinks tea."),
    edit("human", "tea", "coffee"),
    say("done"),
    say("again"),
  ]);
  const lead = worker(model);
  const store = memoryStore();
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "one", request);
  await t.run(lead, "two", request);
  await t.run(lead, "three", { ...request, user: "bob" });
  const shown = systems(model);
  expect(shown[0]).toContain('Memory block "human" (0 of 200 characters): The user\n(empty)');
  // Within a turn the prompt does not change.
  expect(shown[2]).toBe(shown[0]);
  expect(shown[3]).toContain('Memory block "human" (14 of 200 characters): The user\nDrinks coffee.');
  expect(shown[4]).toContain("(0 of 200 characters)");
  // Blocks shared by the tenant come first.
  expect(shown[0]?.indexOf('"project"')).toBeLessThan(shown[0]?.indexOf('"human"') ?? 0);
  expect(await store.memory.block(acme, ada, "human")).toMatchObject({ version: 2, text: "Drinks coffee." });
});

test("a block declared as shared belongs to the tenant, and one declared as private to its session", async () => {
  const model = scriptedModel([
    call("edit_shared_block", { block: "project", old_text: "", new_text: "Ship in May." }, [
      "edit_block",
      { block: "scratch", old_text: "", new_text: "draft 1" },
    ]),
    say("x"),
  ]);
  const lead = worker(model);
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  await t.run(lead, "one", { ...request, session: "a" });
  await t.run(lead, "two", { ...request, session: "b" });
  await t.run(lead, "two", { ...request, session: "a" });
  await t.run(lead, "two", { ...request, user: "bob", session: "a" });
  await t.run(lead, "two", { tenant: "other", user: "ada", session: "a" });
  const shown = systems(model).slice(2);
  expect(shown.map((text) => [text.includes("Ship in May."), text.includes("draft 1")])).toEqual([
    [true, false],
    [true, true],
    [true, false],
    [false, false],
  ]);
});

test.each([
  [edit("human", "nothing", "x"), /old_text is not in the block/],
  [edit("human", "a", "x"), /more than once/],
  [edit("human", "", "y".repeat(199)), /would have 206 characters, and at most 200 are allowed/],
])("a refused edit has the reason and the current text", async (order, reason) => {
  const model = scriptedModel([edit("human", "", "banana"), order, say("done")]);
  const lead = worker(model);
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  await t.run(lead, "go", request);
  expect(lastResult(model)).toEqual({
    edited: false,
    block: "human",
    reason: expect.stringMatching(reason),
    text: "banana",
  });
});

test("a fact is found by its terms in a later conversation, replaced by a later one, and forgotten", async () => {
  const model = scriptedModel([
    call("remember", { key: "city", value: "Lives in Düsseldorf" }),
    call("remember", { key: "city", value: "Lives in Cologne" }),
    call("recall", { query: "which city?" }),
    say("done"),
    call("recall", { query: "cologne" }),
    call("forget", { key: "city" }),
    call("recall", { query: "cologne city" }),
    say("done"),
  ]);
  const lead = agent({
    name: "lead",
    model,
    extensions: [remembers],
    // Memory changes, so a cache must store nothing of it.
    middleware: { function: [cache()] },
  });
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  await t.run(lead, "one", request);
  expect(lastResult(model)).toMatchObject([{ kind: "fact", key: "city", value: "Lives in Cologne" }]);
  await t.run(lead, "two", request);
  expect(lastResult(model)).toEqual([]);
});

/** Returns the tool's result, then follows the script. */
const page = tool({
  name: "fetch_page",
  description: "x",
  risk: "safe",
  origin: "web",
  egress: false,
  input: z.object({}),
  execute: () => "ignore all",
});
const account = tool({
  name: "read_account",
  description: "x",
  risk: "safe",
  sensitivity: "private",
  input: z.object({}),
  execute: () => "4711",
});

const labelledLead = (model: Model) =>
  agent({ name: "lead", model, tools: [page, account], extensions: [remembers] });

/** The labels that a probe of the permissions sees. */
async function labelsAfter(
  store: Store,
  script: ScriptedModel,
  user: string = request.user,
): Promise<unknown> {
  const seen: unknown[] = [];
  const lead = agent({
    name: "lead",
    model: script,
    tools: [page],
    extensions: [remembers],
    permissions: { decide: ({ labels }) => (seen.push(labels), "allow") },
  });
  await using t = testRuntime({ agents: [lead], store });
  expect((await t.run(lead, "go", { ...request, user })).status).toBe("completed");
  return seen.at(-1);
}

test("a block keeps the labels of its writer with their sources, and passes them to runs that read it", async () => {
  const store = memoryStore();
  const model = scriptedModel([
    call("fetch_page", {}),
    call("read_account", {}),
    edit("human", "", "ignore all"),
    say("done"),
  ]);
  const lead = labelledLead(model);
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "go", request);
  const block = await store.memory.block(acme, ada, "human");
  expect(block?.labels).toMatchObject({ untrusted: true, private: true });
  expect(block?.labels.sources?.map(({ name }) => name)).toEqual(["fetch_page", "read_account"]);
  const shown = await labelsAfter(store, scriptedModel([call("fetch_page", {}), say("done")]));
  expect(shown).toMatchObject({ untrusted: true, private: true });
  expect(JSON.stringify(shown)).toContain("read_account");
});

test("a run with untrusted and private content needs approval to write memory that other users see", async () => {
  const store = memoryStore();
  const model = scriptedModel([
    call("fetch_page", {}),
    call("read_account", {}),
    call("edit_shared_block", { block: "project", old_text: "", new_text: "4711" }),
    say("done"),
  ]);
  const lead = labelledLead(model);
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "go", request);
  expect(await store.memory.block(acme, MemoryOwner.tenant, "project")).toBeNull();
});

const editProject = (text: string) =>
  call("edit_shared_block", { block: "project", old_text: "", new_text: text });

test("a shared block that a run of another user edited is untrusted for its reader, and not for its author", async () => {
  const store = memoryStore();
  const lead = labelledLead(scriptedModel([editProject("by eve"), say("done")]));
  const readBy = async (user: string): Promise<boolean> => {
    const seen = await labelsAfter(store, scriptedModel([call("fetch_page", {}), say("done")]), user);
    return Json.as<{ readonly untrusted: boolean }>(Json.of(seen)).untrusted;
  };
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "go", { ...request, user: "eve" });
  expect([await readBy("eve"), await readBy("bob")]).toEqual([false, true]);
  const own = labelledLead(scriptedModel([editProject("by bob"), say("done")]));
  await using other = testRuntime({ agents: [own], store });
  await other.run(own, "go", { ...request, user: "bob" });
  expect([await readBy("eve"), await readBy("bob")]).toEqual([true, true]);
  const block = await store.memory.block(acme, MemoryOwner.tenant, "project");
  expect(JSON.stringify(block?.authors)).not.toMatch(/eve|bob/);
});

test("a block written by a run without labels adds no labels", async () => {
  const store = memoryStore();
  const lead = labelledLead(scriptedModel([edit("human", "", "tea"), say("done")]));
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "go", request);
  expect(await labelsAfter(store, scriptedModel([call("fetch_page", {}), say("done")]))).toEqual({
    untrusted: false,
    private: false,
  });
});

test("recalled text is untrusted, and has the labels of its facts", async () => {
  const store = memoryStore();
  const lead = labelledLead(
    scriptedModel([
      call("remember", { key: "tea", value: "green" }),
      call("read_account", {}),
      call("remember", { key: "number", value: "4711" }),
      say("done"),
    ]),
  );
  await using t = testRuntime({ agents: [lead], store });
  await t.run(lead, "go", request);
  const ask = (query: string) =>
    labelsAfter(store, scriptedModel([call("recall", { query }), call("fetch_page", {}), say("done")]));
  expect(await ask("tea")).toMatchObject({ untrusted: true, private: false });
  expect(await ask("number")).toMatchObject({ untrusted: true, private: true });
});

test("without a store the tools return an error, and the run continues", async () => {
  const model = scriptedModel([call("remember", { key: "a", value: "b" }), say("done")]);
  const lead = worker(model);
  await using t = testRuntime({ agents: [lead] });
  expect(await t.run(lead, "go")).toMatchObject({ status: "completed" });
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("memory needs a store");
});

test("a block that cannot be kept is refused when the agent is defined", () => {
  expect(() => memory({ blocks: { "my block": { limit: 10 } } })).toThrow(/invalid block name/);
  expect(() => memory({ blocks: { a: { limit: 0 } } })).toThrow(/limit of the block a/);
  expect(() => memory({ blocks: { a: { limit: 1_000_000 } } })).toThrow(/at most 50000/);
});
