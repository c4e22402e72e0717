// An agent of your own: plain async code. Every ctx call is a step that is never done twice.
import assert from "node:assert/strict";
import { AgentId, createRuntime, type Agent } from "reeve";
import { engine } from "./engine.ts";

const rates = new Map([["EUR", 1.07]]);

const researcher: Agent = {
  id: AgentId.of("researcher"),
  async run(ctx, inbox) {
    for await (const message of inbox) {
      const fact = await ctx.step("look", () => `${message.text}: 4000 EUR`);
      await ctx.reply(message, fact);
    }
  },
};

const writer: Agent = {
  id: AgentId.of("writer"),
  async run(ctx, inbox) {
    const answers: string[] = [];
    for await (const message of inbox) {
      // At the same time, in plain code: both replay.
      const [fact, rate] = await Promise.all([
        ctx.askOrThrow(researcher, message.text, { timeoutS: 60 }),
        ctx.step("rate", () => rates.get("EUR") ?? 1),
      ]);
      await ctx.emit({ found: fact.text }); // progress, for subscribers of the tree
      answers.push(`${fact.text} at ${rate}`);
    }
    return answers;
  },
};

await using runtime = createRuntime({ agents: [writer, researcher], engine });
await runtime.serve({ port: 0 });
const run = await runtime.start(writer, "heat pump", { deadlineS: 60 });
const { status, output } = await run.result();

console.log(output);
assert.equal(status, "completed");
assert.deepEqual(output, ["heat pump: 4000 EUR at 1.07"]);
