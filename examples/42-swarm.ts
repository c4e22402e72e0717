// Swarm: members pass the task on to each other. The one that does not answers.
import assert from "node:assert/strict";
import { agent, createRuntime, handoff } from "reeve";
import { swarm } from "reeve/architectures";
import { call, say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const reception = agent({
  name: "reception",
  model: scriptedModel([call("handoff_to_billing", { message: "Invoice 17 is in question." })]),
  handoffs: [handoff("billing"), handoff("support")],
});
const billing = agent({
  name: "billing",
  model: scriptedModel([say("Invoice 17 is paid.")]),
  handoffs: [handoff("support")],
});
const support = agent({ name: "support", model: scriptedModel([say("Press reset.")]) });
const desk = agent({
  name: "desk",
  architecture: swarm({ members: [reception, billing, support], maxHandoffs: 4 }),
});

await using runtime = createRuntime({ agents: [desk], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(desk, "Is my invoice paid?");
const { output, usage } = await run.result();
assert.equal(output, "Invoice 17 is paid.");
// One handoff: one call of each member that had the task.
assert.equal(usage.input + usage.output, (1 + 1) * 15);
