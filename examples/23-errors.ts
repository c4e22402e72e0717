// A mistake in a program is refused before anything runs. Code that throws is reported to its author with the line; the
// model gets the message alone.
import assert from "node:assert/strict";
import { agent, createRuntime, ProgramError, tool, type FailureRecord } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const model = scriptedModel([call("stock", { title: "Emma" }), say("I could not look it up.")]);
const stock = tool({
  name: "stock",
  description: "Counts the copies of a book",
  input: z.object({ title: z.string() }),
  risk: "safe",
  execute: ({ title }) => {
    throw new Error(`no connection to the shop: ${title}`);
  },
});
const writer = agent({ name: "writer", model, tools: [stock] });

// Every mistake of the program in one error, each with its fix.
assert.throws(
  () => createRuntime({ agents: [agent({ name: "writer", model, tools: [stock, stock] }), writer] }),
  (error) => {
    assert(error instanceof ProgramError);
    assert.deepEqual(error.problems, [
      "two agents are named writer: give one of them another name",
      "agent writer has two tools named stock: give one of them another name",
    ]);
    return true;
  },
);

const failures: FailureRecord[] = [];
await using runtime = createRuntime({ agents: [writer], log: (failure) => failures.push(failure) });
const result = await (await runtime.start(writer, "Is Emma in stock?")).result();
assert.equal(result.status, "completed");

// The author sees where it happened, the model what happened.
assert.match(failures[0]?.diagnostic.frames[0] ?? "", /23-errors\.ts:15/);
assert.match(JSON.stringify(model.requests[1]?.messages.at(-1)), /no connection to the shop: Emma/);
