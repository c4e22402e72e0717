// Tree of thoughts: many first thoughts are judged; the best few are thought further, level by level.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, type Model } from "reeve";
import { treeOfThoughts } from "reeve/architectures";
import { z } from "zod";
import { engine } from "./engine.ts";

/** A model that computes its answer from the last message. */
const answering = (id: string, answer: (prompt: string) => string): Model => ({
  id,
  generate: async ({ messages: [...messages] }) => {
    const last = messages.findLast(({ role }) => role === "user");
    const message = ChatMessage.assistant(answer(last ? ChatMessage.text(last) : ""));
    return { message, finishReason: "stop", usage: { input: 10, output: 5 } };
  },
});

const thinker = agent({
  name: "thinker",
  model: answering("thinking", (prompt) => {
    const option = /option (\d)/.exec(prompt)?.[1];
    return prompt.includes("So far") ? `title, then idea ${option}` : `idea ${option}`;
  }),
});
const evaluator = agent({
  name: "evaluator",
  model: answering("judging", (prompt) => {
    const option = Number(/idea (\d)$/.exec(prompt)?.[1]);
    return JSON.stringify({ score: option / 10, feedback: "" });
  }),
  output: z.object({ score: z.number(), feedback: z.string() }),
});
const lead = agent({
  name: "lead",
  architecture: treeOfThoughts({ thinker, evaluator, branches: 3, beam: 1, depth: 2 }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Outline the report");
const { output, usage } = await run.result();
assert.equal(output, "title, then idea 3");
// Three thoughts and their scores, on two levels.
assert.equal(usage.input + usage.output, 2 * 3 * (1 + 1 * (2 - 1)) * 15);
