// Reflexion: after a failure the leader's model derives a lesson, and the next trial receives all lessons.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { reflexion } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const writerModel = scriptedModel([say("They are good."), say("They save a third of the energy.")]);
const writer = agent({ name: "writer", model: writerModel });
const reviewer = agent({
  name: "reviewer",
  model: scriptedModel([
    say('{"score": 0.3, "feedback": "There is no figure."}'),
    say('{"score": 0.9, "feedback": "Good."}'),
  ]),
  output: z.object({ score: z.number(), feedback: z.string() }),
});
const lead = agent({
  name: "lead",
  model: scriptedModel([say("Give a figure for every claim.")]),
  architecture: reflexion({ actor: writer, evaluator: reviewer, trials: 3 }),
});

await using runtime = createRuntime({ agents: [lead], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(lead, "Why heat pumps?");
const { output, usage } = await run.result();
assert.equal(output, "They save a third of the energy.");
assert.ok(JSON.stringify(writerModel.requests[1]?.messages).includes("Give a figure for every claim."));
// Two trials of two calls, and one lesson.
assert.equal(usage.input + usage.output, (2 * 2 + 1) * 15);
