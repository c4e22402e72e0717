// A question to a user: the run waits for the answer, which is validated when it is given.
import assert from "node:assert/strict";
import { agent, ApprovalRefusedError, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";

const model = scriptedModel([
  call("ask_human", { question: "When is the report sent?", choices: ["Monday", "Friday"] }),
  call("ask_human", {
    question: "Where is it sent?",
    fields: [
      { name: "address", type: "text" },
      { name: "copies", type: "number", optional: true },
    ],
  }),
  say("The report is sent on Friday."),
]);
const writer = agent({ name: "writer", model, tools: [askHuman()] });
await using runtime = createRuntime({ agents: [writer], approver: "human" });
const run = await runtime.start(writer, "Send the report");

/** Waits for the n-th question. In a server: GET /approvals?state=pending; on a terminal: reeve approvals. */
async function getQuestion(number: number): Promise<string> {
  let asked = 0;
  for await (const event of run.events())
    if (event.type === "approval.requested" && ++asked === number) return event.approvalId;
  throw new Error("it has asked less");
}

// An answer that is not one of the choices is refused, and the question remains open.
const first = await getQuestion(1);
await assert.rejects(run.edit(first, "Sunday"), ApprovalRefusedError);
await run.edit(first, "Friday", { by: "ada" });

// The answer to a form is an object with its fields.
const second = await getQuestion(2);
await assert.rejects(run.edit(second, { copies: 2 }), /address is missing/);
await run.edit(second, { address: "team@example.com" }, { by: "ada" });

const { output } = await run.result();
console.log(output);
assert.equal(output, "The report is sent on Friday.");
assert.match(JSON.stringify(model.requests.at(-1)?.messages), /team@example.com/);
