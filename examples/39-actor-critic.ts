// Actor and critic: one worker writes, another judges, until it is good enough. The best attempt counts, not the last.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { actorCritic } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const writer = agent({
  name: "writer",
  model: scriptedModel([say("They are good."), say("They save a third of the energy.")]),
});
const reviewer = agent({
  name: "reviewer",
  model: scriptedModel([
    say('{"score": 0.3, "feedback": "Say how much."}'),
    say('{"score": 0.9, "feedback": "Good."}'),
  ]),
  output: z.object({ score: z.number(), feedback: z.string() }),
});
const lead = agent({
  name: "lead",
  architecture: actorCritic({ actor: writer, critic: reviewer, rounds: 4, threshold: 0.8 }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Why heat pumps?");
const { status, output, usage } = await run.result();
assert.deepEqual([status, output], ["completed", "They save a third of the energy."]);
// Two rounds of two calls. The leader needs no model.
assert.equal(usage.input + usage.output, 2 * 2 * 15);
