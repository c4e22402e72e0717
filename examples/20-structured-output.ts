// Structured output: a schema makes the answer validated data, typed all the way. A wrong answer is repaired.
import assert from "node:assert/strict";
import { agent, createRuntime, type OutputOf } from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const model = scriptedModel([
  say('{ "score": "four", "notes": [] }'), // invalid: sent back with the problem
  say('{ "score": 4, "notes": ["clear"], "due": "2026-11-16" }'),
]);
const reviewer = agent({
  name: "reviewer",
  model,
  output: z.object({
    score: z.number(),
    notes: z.array(z.string()),
    due: z.iso.date().transform((day) => new Date(day)),
  }),
});

await using runtime = createRuntime({ agents: [reviewer] });
const { status, output } = await (await runtime.start(reviewer, "Review the report")).result();

assert.equal(status, "completed");
const review: OutputOf<typeof reviewer> | null = output;
assert.equal(review?.notes[0]?.toUpperCase(), "CLEAR");
// Output is data: a date is its ISO text, as its type states.
assert.equal(review?.due.slice(0, 10), "2026-11-16");
assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /score: .*expected number/);

// With a budget for one call, the result is data or a failure, never text.
const hasty = agent({ ...reviewer, name: "hasty", model: scriptedModel([say("about four")]) });
await using other = createRuntime({ agents: [hasty] });
const failed = await (await other.start(hasty, "Review", { budget: { maxTurns: 2 } })).result();
assert.deepEqual([failed.status, failed.stopReason, failed.output], ["failed", "budget.turns", null]);
