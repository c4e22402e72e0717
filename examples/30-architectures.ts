// Architectures: three ways to lead a team. Every worker is a run, with a slot and an account of its own.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { actorCritic, debate, supervisor } from "reeve/architectures";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

// A panel whose members see each other's answers, and agree in the second round.
const optimist = agent({ name: "optimist", model: scriptedModel([say("Yes, in May.")]) });
const sceptic = agent({ name: "sceptic", model: scriptedModel([say("No."), say("Yes, in May.")]) });
const panel = agent({
  name: "panel",
  description: "Weighs both sides",
  architecture: debate({ debaters: [optimist, sceptic] }),
});

// A writer that improves a text until its critic is content. The best attempt counts, not the last.
const author = agent({ name: "author", model: scriptedModel([say("Draft."), say("A fine text.")]) });
const critic = agent({
  name: "critic",
  model: scriptedModel([
    say('{"score": 0.4, "feedback": "too short"}'),
    say('{"score": 0.9, "feedback": "good"}'),
  ]),
  output: z.object({ score: z.number(), feedback: z.string() }),
});
const writer = agent({ name: "writer", architecture: actorCritic({ actor: author, critic }) });

// A leader whose model asks both, and forwards the writer's text verbatim.
const model = scriptedModel([
  call("ask_panel", { task: "Do we ship in May?" }),
  call("ask_writer", { task: "Announce it for May.", forward: true }),
]);
const lead = agent({ name: "lead", model, architecture: supervisor({ workers: [panel, writer] }) });

await using runtime = createRuntime({ agents: [lead] });
const run = await runtime.start(lead, "Decide and announce", { budget: { maxCostUsd: 1 } });
const { status, output, costMicros } = await run.result();
assert.deepEqual([status, output], ["completed", "A fine text."]);
// Two calls of the leader, four of the panel, four of the writer: each 15 micro-dollars.
assert.equal(costMicros, 10 * 15);
