// Orchestrator: a supervisor whose workers have their own priority, budget and timeout.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { orchestrator } from "reeve/architectures";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const researcher = agent({
  name: "researcher",
  model: scriptedModel([say("Heat pumps: 9,000 to 14,000.")], { id: "small" }),
});
const archivist = agent({
  name: "archivist",
  model: scriptedModel([say("In 2020 it was 8,000.")], { id: "small" }),
});
const model = scriptedModel([
  call("ask_researcher", { task: "What do they cost?" }, ["ask_archivist", { task: "What did they cost?" }]),
  say("9,000 to 14,000; 8,000 in 2020."),
]);
const lead = agent({
  name: "lead",
  model,
  architecture: orchestrator({
    workers: [
      { agent: researcher, priority: "high", budget: { maxCostUsd: 0.5 } },
      { agent: archivist, priority: "background", askTimeoutS: 60 },
    ],
  }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Report on heat pumps");
const priorities: string[] = [];
for await (const event of run.events())
  if (event.type === "run.start") priorities.push(`${event.agent} ${event.priority}`);
assert.deepEqual(priorities.toSorted(), ["archivist background", "lead normal", "researcher high"]);
const { output, usage } = await run.result();
assert.equal(output, "9,000 to 14,000; 8,000 in 2020.");
assert.equal(usage.input + usage.output, (2 + 2) * 15);
