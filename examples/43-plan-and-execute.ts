// Plan and execute: the leader's model writes a plan, workers run its steps, in parallel if possible, and it
// summarises.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { planAndExecute } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const researcher = agent({
  name: "researcher",
  description: "Finds figures",
  model: scriptedModel([say("9,000 to 14,000.")], { id: "small" }),
});
const writer = agent({
  name: "writer",
  description: "Writes texts",
  model: scriptedModel([say("A heat pump costs 9,000 to 14,000.")], { id: "small" }),
});
const plan = {
  steps: [
    { id: "prices", task: "Find prices.", worker: "researcher", after: [] },
    { id: "noise", task: "Find noise levels.", worker: "researcher", after: [] },
    { id: "text", task: "Write a paragraph.", worker: "writer", after: ["prices", "noise"] },
  ],
};
const model = scriptedModel([say(JSON.stringify(plan)), say("Report: 9,000 to 14,000.")]);
const lead = agent({
  name: "lead",
  model,
  architecture: planAndExecute({ workers: [researcher, writer], replans: 1 }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Report on heat pumps");
const { output, usage } = await run.result();
assert.equal(output, "Report: 9,000 to 14,000.");
// Three steps; the leader plans once and sums up.
assert.equal(usage.input + usage.output, (3 + 2) * 15);
