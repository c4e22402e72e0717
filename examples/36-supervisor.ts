// Supervisor: the leader's model decides which workers to ask, several at once if it likes, and sums up.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { supervisor } from "reeve/architectures";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const researcher = agent({
  name: "researcher",
  description: "Finds figures",
  model: scriptedModel([say("Heat pumps: 9,000 to 14,000.")], { id: "small" }),
});
const reviewer = agent({
  name: "reviewer",
  description: "Checks statements",
  model: scriptedModel([say("The figures are of 2026.")], { id: "small" }),
});
const model = scriptedModel([
  call("ask_researcher", { task: "What do they cost?" }, [
    "ask_reviewer",
    { task: "From what year is that?" },
  ]),
  say("A heat pump costs 9,000 to 14,000 (2026)."),
]);
const lead = agent({
  name: "lead",
  model,
  architecture: supervisor({ workers: [researcher, reviewer] }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Report on heat pumps", { spawn: { maxAgents: 3 } });
const { output, usage } = await run.result();
assert.equal(output, "A heat pump costs 9,000 to 14,000 (2026).");
// Two workers asked in one round: 2 calls of theirs, 2 of the leader. Each is 15 tokens.
assert.equal(usage.input + usage.output, (2 + 2) * 15);
