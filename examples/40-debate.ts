// Debate: several workers answer, see all answers, and answer again. A judge decides if they disagree.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { debate } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const optimist = agent({
  name: "optimist",
  model: scriptedModel([say("Ship in May."), say("Ship in May, with a pilot.")]),
});
const sceptic = agent({
  name: "sceptic",
  model: scriptedModel([say("Wait for tests."), say("Ship in June.")]),
});
const judge = agent({ name: "judge", model: scriptedModel([say("A pilot in May, all in June.")]) });
const panel = agent({
  name: "panel",
  architecture: debate({ debaters: [optimist, sceptic], judge, rounds: 2 }),
});

await using runtime = createRuntime({ agents: [panel], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(panel, "When do we ship?");
const { output, usage } = await run.result();
assert.equal(output, "A pilot in May, all in June.");
// Two debaters in two rounds, and the judge.
assert.equal(usage.input + usage.output, (2 * 2 + 1) * 15);
