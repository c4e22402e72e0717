// A budget is a hard limit: a call that does not fit is never made. The last slice pays for an answer.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const price = { input: 3_000_000, output: 15_000_000 }; // micro-dollars for a million tokens: 3 and 15 dollars
const usage = { input: 100, output: 400 };

const writer = agent({
  name: "writer",
  model: scriptedModel([say("more and more words", usage)], { id: "wordy", price, maxOutputTokens: 400 }),
});
const lead = agent({
  name: "lead",
  // It would go on for ever: it is the budget that ends it.
  model: scriptedModel([call("ask_writer", { task: "go on" })], {
    id: "tireless",
    price,
    maxOutputTokens: 100,
  }),
  team: [writer],
  loopLimits: {
    sameCall: { warn: 99, block: 99 },
    sameTool: { warn: 99, halt: 99 },
    sameResult: { warn: 99, block: 99 },
    pingPong: { warn: 99, halt: 99 },
  },
});

await using runtime = createRuntime({ agents: [lead, writer], engine });
await runtime.serve({ port: 0 });
const cap = 0.05; // dollars, for the parent and all its children
const run = await runtime.start(lead, "Write a book", { budget: { maxCostUsd: cap } });
const warnings: string[] = [];
for await (const event of run.events()) if (event.type === "budget.warning") warnings.push(event.dimension);
const result = await run.result();

console.log(result.status, result.stopReason, `${result.costMicros} of ${cap * 1e6} micro-dollars`);
assert.ok(result.costMicros <= cap * 1e6);
assert.equal(result.status, "landed"); // it ends with an answer, not with an error
assert.equal(result.stopReason, "budget.cost");
assert.deepEqual(warnings, ["cost"]); // once, at 80 %
