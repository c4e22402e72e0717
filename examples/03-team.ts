// A parent spawns several children at once. They share the tree's budget; the whole tree is one ordered stream.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const digger = agent({
  name: "digger",
  description: "Finds facts in the archive",
  model: scriptedModel([say("Built in 1287.")], { id: "small" }),
  budget: { maxTurns: 5 },
});

const lead = agent({
  name: "lead",
  model: scriptedModel([
    call("ask_digger", { task: "Who built the mill?" }, ["ask_digger", { task: "When?" }]),
    say("The mill was built in 1287."),
  ]),
  team: [{ agent: digger, priority: "high", askTimeoutS: 60 }],
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Tell me about the mill", { spawn: { maxAgents: 5 } });

const spawned: string[] = [];
for await (const event of run.events()) {
  if (event.type === "spawn.admitted") spawned.push(event.childAgent);
  console.log(event.seq, event.runId, event.type);
}
const { output, usage } = await run.result();

assert.equal(output, "The mill was built in 1287.");
assert.deepEqual(spawned, ["digger", "digger"]);
assert.equal(usage.input + usage.output, 4 * 15); // all calls of the tree
