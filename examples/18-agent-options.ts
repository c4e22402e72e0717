// Instructions that depend on the request, and a sub-agent that is asked with data as its answer.
import assert from "node:assert/strict";
import { agent, AgentId, ChatMessage, createRuntime, type Agent } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const names = new Map([["ada", "Ada Lovelace"]]);

const reviewer = agent({
  name: "reviewer",
  description: "Scores a report",
  model: scriptedModel([say('{ "score": 4 }')]),
  output: z.object({ score: z.number() }),
});

const model = scriptedModel([call("ask_reviewer", { task: "Score the draft" }), say("The draft scores 4.")]);
const lead = agent({
  name: "lead",
  model,
  // Called in the first model step of a turn; the text is recorded with the step.
  instructions: ({ scope }) => `Prepare a report for ${names.get(scope.userId ?? "") ?? "a guest"}.`,
  toolChoice: "required", // for the first call of a turn
  team: [{ agent: reviewer, askTimeoutS: 60 }],
  budget: { maxTurns: 5 },
});

// The same, as plain code: the type of the reply follows from the reviewer's schema.
const editor: Agent<number> = {
  id: AgentId.of("editor"),
  async run(ctx, inbox) {
    const message = await inbox.next();
    const { data } = await ctx.askOrThrow(reviewer, message?.text ?? "", { timeoutS: 60 });
    return data.score * 10;
  },
};

await using runtime = createRuntime({ agents: [lead, editor] });
const result = await (await runtime.start(lead, "Batteries", { user: "ada" })).result();
assert.equal(result.output, "The draft scores 4.");
const system = model.requests[0]?.messages[0];
assert.equal(system && ChatMessage.text(system), "Prepare a report for Ada Lovelace.");
assert.equal(model.requests[0]?.toolChoice, "required");
assert.equal(model.requests[1]?.toolChoice, undefined);

const { output } = await (await runtime.start(editor, "Batteries")).result();
assert.equal(output, 40);
