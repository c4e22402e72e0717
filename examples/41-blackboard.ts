// Blackboard: experts write to one board in turn, until the leader's model finds the answer there.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { blackboard } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const electrician = agent({
  name: "electrician",
  description: "Power and wiring",
  model: scriptedModel([say("The current is normal.")]),
});
const plumber = agent({
  name: "plumber",
  description: "Pipes and valves",
  model: scriptedModel([say("A valve is stuck.")]),
});
const model = scriptedModel([
  say('{"done": false, "expert": "electrician", "answer": ""}'),
  say('{"done": false, "expert": "plumber", "answer": ""}'),
  say('{"done": true, "expert": "", "answer": "Replace the valve."}'),
]);
const lead = agent({
  name: "lead",
  model,
  architecture: blackboard({ experts: [electrician, plumber], rounds: 5 }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "The pump is loud. Why?");
const { output, usage } = await run.result();
assert.equal(output, "Replace the valve.");
// Two contributions; the leader reads the board three times.
assert.equal(usage.input + usage.output, (2 + 3) * 15);
