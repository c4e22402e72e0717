// A run tool is agent code that a model can call: it may spawn, wait and ask, and its calls are steps of the run.
import assert from "node:assert/strict";
import { agent, createRuntime, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const reviewer = agent({
  name: "reviewer",
  model: scriptedModel([say("yes"), say("no"), say("yes")], { id: "opinion" }),
});

const survey = tool({
  name: "survey",
  description: "Ask three reviewers and count",
  input: z.object({ topic: z.string() }),
  risk: "safe",
  run: async (ctx, { topic }) => {
    const views = await Promise.all(
      [1, 2, 3].map((n) => ctx.ask(reviewer, `${topic}, view ${n}`, { timeoutS: 90 })),
    );
    const votes = views.map((view) => (view.kind === "replied" ? view.text : view.kind));
    return {
      yes: votes.filter((vote) => vote === "yes").length,
      no: votes.filter((vote) => vote === "no").length,
    };
  },
});

const model = scriptedModel([call("survey", { topic: "the report" }), say("Two of three are for it.")]);
const lead = agent({ name: "lead", model, tools: [survey] });

await using runtime = createRuntime({ agents: [lead, reviewer], engine });
await runtime.serve({ port: 0 });
const result = await (await runtime.start(lead, "Should we publish the report?")).result();

console.log(result.output);
assert.equal(result.output, "Two of three are for it.");
assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /\\"yes\\":2,\\"no\\":1/);
