// A parent spawns several children at once. They share the tree's budget; the whole tree is one ordered stream.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const researcher = agent({
  name: "researcher",
  description: "Finds facts in the archive",
  model: scriptedModel([say("They grew by 9 percent.")], { id: "small" }),
  budget: { maxTurns: 5 },
});

const lead = agent({
  name: "lead",
  model: scriptedModel([
    call("ask_researcher", { task: "How did sales develop?" }, ["ask_researcher", { task: "And prices?" }]),
    say("Sales of heat pumps grew by 9 percent."),
  ]),
  team: [{ agent: researcher, priority: "high", askTimeoutS: 60 }],
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Report on heat pumps", { spawn: { maxAgents: 5 } });

const spawned: string[] = [];
for await (const event of run.events()) {
  if (event.type === "spawn.admitted") spawned.push(event.childAgent);
  console.log(event.seq, event.runId, event.type);
}
const { output, usage } = await run.result();

assert.equal(output, "Sales of heat pumps grew by 9 percent.");
assert.deepEqual(spawned, ["researcher", "researcher"]);
assert.equal(usage.input + usage.output, 4 * 15); // all calls of the tree
