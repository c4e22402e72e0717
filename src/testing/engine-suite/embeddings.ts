import assert from "node:assert/strict";
import { agent, memory } from "#agents";
import type { Embedder, Price } from "#kernel";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel, type ScriptedModel } from "../scripted-model.ts";
import { onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** An embedder for which all texts about nuts mean the same. It keeps the texts of its calls. */
function fakeEmbedder(price: Price): Embedder & { readonly calls: readonly (readonly string[])[] } {
  const calls: (readonly string[])[] = [];
  return {
    id: "nuts",
    dimensions: 2,
    price,
    calls,
    embed: async (texts) => {
      calls.push(texts);
      return { vectors: texts.map((text) => (/nut|almond/i.test(text) ? [1, 0] : [0, 1])), inputTokens: 4 };
    },
  };
}

const lastPromptMessage = (model: ScriptedModel): string =>
  JSON.stringify(model.requests.at(-1)?.messages.at(-1)?.content);

/** Section 8.9: memory that is found by its meaning. */
export const embeddingCases: readonly EngineCase[] = [
  {
    name: "8.9 calls of an embedder pass the gate, are charged to their run, and do not count as turns",
    async run(harness) {
      const embedder = fakeEmbedder({ input: 1_000_000, output: 0 });
      const model = scriptedModel([
        call("remember", { key: "food", value: "allergic to peanuts" }, [
          "remember",
          { key: "city", value: "Cologne" },
        ]),
        say("Noted."),
        call("recall", { query: "almonds?" }),
        say("Better not."),
      ]);
      const writer = agent({
        name: "writer",
        model,
        budget: { maxTurns: 3 },
        extensions: [memory({ facts: true, episodes: { recall: 1 }, embedder })],
      });
      await onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(writer, { user: "ada" });
        const first = await talk.start("I eat no peanuts.");
        const { status, costMicros } = await first.result();
        // Two answers of 15 tokens; two facts and the texts of the turn.
        assert.deepEqual([status, costMicros], ["completed", 2 * 15 + 3 * 4]);
        const facts = embedder.calls.slice(0, 2).map(([text = ""]) => text);
        assert.deepEqual(facts.toSorted(), ["city Cologne", "food allergic to peanuts"]);
        assert.deepEqual(embedder.calls.slice(2), [["I eat no peanuts.", "Noted."]]);
        const events = await historyOf(first);
        const subjects = only(events, "model.start").map((event) => event.model);
        assert.equal(subjects.filter((subject) => subject === "nuts").length, 3);
        assert.deepEqual(
          only(events, "model.end").flatMap(({ model: by, usage }) => (by === "nuts" ? [usage.input] : [])),
          [4, 4, 4],
        );
        const second = await talk.start("May I eat almonds?");
        assert.equal((await second.result()).status, "completed");
        // The texts share no word.
        assert.match(lastPromptMessage(model), /allergic to peanuts/);
        assert.match(lastPromptMessage(model), /I eat no peanuts/);
        assert.doesNotMatch(lastPromptMessage(model), /Noted/);
      });
    },
  },
  {
    name: "8.9 memory searches by terms when no budget allows the embedder",
    async run(harness) {
      const embedder = fakeEmbedder({ input: 1_000_000_000_000, output: 0 });
      const model = scriptedModel([
        call("remember", { key: "food", value: "allergic to peanuts" }),
        call("recall", { query: "allergic" }),
        say("Peanuts."),
      ]);
      const writer = agent({
        name: "writer",
        model,
        budget: { maxCostUsd: 1 },
        extensions: [memory({ facts: true, episodes: { recall: 1 }, embedder })],
      });
      const failures: unknown[] = [];
      const options = {
        agents: [writer],
        store: memoryStore(),
        log: (failure: unknown) => failures.push(failure),
      };
      await onRuntime(harness, options, async (runtime) => {
        const talk = await runtime.sessions.create(writer, { user: "ada" });
        const run = await talk.start("What am I allergic to?");
        const { status, costMicros } = await run.result();
        assert.deepEqual([status, costMicros, embedder.calls], ["completed", 3 * 15, []]);
        assert.match(lastPromptMessage(model), /allergic to peanuts/);
        const denied = only(await historyOf(run), "budget.denied");
        assert.deepEqual(
          denied.map(({ dimension }) => dimension),
          ["cost", "cost", "cost"],
        );
        assert.ok(failures.length >= denied.length);
      });
    },
  },
];
