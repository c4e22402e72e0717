import { agent, ChatMessage, memory, type Model } from "reeve";
import { type FoundMemory } from "#kernel";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";

const episodes = memory({ episodes: { recall: 2 } });

const textsOf = (found: readonly FoundMemory[]): readonly string[] =>
  found.map((each) =>
    each.kind === "episode" ? `${each.episode.role}: ${each.episode.text}` : each.fact.key,
  );

test("recall finds messages of the user's earlier conversations by terms, and none of another user", async () => {
  const model = scriptedModel([
    say("The boiler needs a new valve."),
    say("Sunny."),
    call("recall", { query: "what was wrong with the boiler?" }),
    say("A valve."),
    call("recall", { query: "boiler" }),
    say("Nothing."),
  ]);
  const lead = agent({ name: "lead", model, extensions: [episodes] });
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  const ask = (text: string, user: string, session: string) => t.run(lead, text, { user, session });
  await ask("Why is the boiler cold?", "ada", "one");
  await ask("How is the weather?", "ada", "two");
  await ask("Remind me", "ada", "three");
  const shown = (): string => JSON.stringify(model.requests.at(-1)?.messages.at(-1));
  expect(shown()).toContain("needs a new valve");
  expect(shown()).toContain("Why is the boiler cold?");
  expect(shown()).not.toContain("weather");
  await ask("And me?", "bob", "one");
  expect(shown()).not.toContain("valve");
  const found = await t.runtime.memory.recall("boiler", { user: "ada" });
  expect(textsOf(found).toSorted()).toEqual([
    "assistant: The boiler needs a new valve.",
    "user: Why is the boiler cold?",
  ]);
  await (await t.runtime.sessions.get("one", { user: "ada" })).delete();
  expect(await t.runtime.memory.recall("boiler", { user: "ada" })).toEqual([]);
});

test("an index that fails temporarily is written once, when the turn is saved again", async () => {
  const store = memoryStore();
  const { memory: kept } = store;
  const index = kept.index.bind(kept);
  let failures = 2;
  kept.index = async (...given) => {
    if (failures-- > 0) throw new Error("away");
    await index(...given);
  };
  const model: Model = {
    id: "plain",
    generate: async () => ({
      message: ChatMessage.assistant("A valve."),
      finishReason: "stop",
      usage: { input: 1, output: 1 },
    }),
  };
  const lead = agent({ name: "lead", model, extensions: [episodes] });
  await using t = testRuntime({ agents: [lead], store });
  const talk = await t.runtime.sessions.create(lead, { user: "ada" });
  expect((await talk.invoke("The boiler?")).status).toBe("completed");
  expect(textsOf(await t.runtime.memory.recall("boiler", { user: "ada" }))).toEqual(["user: The boiler?"]);
  expect((await talk.messages()).items).toHaveLength(2);
});

test("an operator reads, finds, forgets and exports a user's memory", async () => {
  const remembers = memory({ blocks: { human: { limit: 100 } }, facts: true });
  const model = scriptedModel([
    call("remember", { key: "city", value: "Cologne" }, [
      "edit_block",
      { block: "human", old_text: "", new_text: "tea" },
    ]),
    say("done"),
  ]);
  const lead = agent({ name: "lead", model, extensions: [remembers] });
  await using t = testRuntime({ agents: [lead], store: memoryStore() });
  const ada = { tenant: "acme", user: "ada" };
  await t.run(lead, "go", ada);
  const { memory: kept } = t.runtime;
  expect(await kept.facts(ada)).toMatchObject([{ key: "city", value: "Cologne" }]);
  expect(await kept.facts({ tenant: "other", user: "ada" })).toEqual([]);
  expect(await kept.blocks(ada)).toMatchObject([{ name: "human", text: "tea" }]);
  const exported: string[] = [];
  for await (const { kind } of kept.export(ada)) exported.push(kind);
  expect(exported).toEqual(["fact", "block"]);
  expect(await kept.forget({ key: "city" }, { ...ada, user: "bob" })).toEqual({
    items: [],
    conversations: [],
  });
  expect((await kept.forget({ key: "city" }, ada)).items).toHaveLength(1);
  expect(await kept.facts(ada, {})).toEqual([]);
  expect(await kept.recall("cologne", ada)).toEqual([]);
});
