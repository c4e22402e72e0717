// Tools have side effects. Each states its risk; a tool above `safe` does not run without approval.
import assert from "node:assert/strict";
import { agent, createRuntime, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const archive = new Map([["heat pumps", "sales grew by 9 percent"]]);
const sent: string[] = [];

const look = tool({
  name: "look",
  description: "Look a fact up in the archive",
  input: z.object({ subject: z.string() }),
  risk: "safe",
  idempotent: true, // safe to deliver again after a crash, with the same key
  execute: async ({ subject }) => archive.get(subject) ?? "nothing found",
});

const mail = tool({
  name: "mail",
  description: "Send an e-mail",
  input: z.object({ to: z.string(), text: z.string() }),
  risk: "high",
  execute: async ({ text }) => sent.push(text),
});

const model = scriptedModel([
  call("look", { subject: "heat pumps" }, ["mail", { to: "ada", text: "9 percent!" }]), // two calls at once
  say("Sales grew by 9 percent. I was not allowed to send the e-mail."),
]);
const writer = agent({ name: "writer", model, tools: [look, mail] });

await using runtime = createRuntime({ agents: [writer], engine });
await runtime.serve({ port: 0 });
const result = await (await runtime.start(writer, "Find out about heat pumps and write to Ada")).result();

console.log(result.output);
assert.equal(result.status, "completed");
assert.deepEqual(sent, []); // refused: there was no approval
const results = model.requests[1]?.messages.at(-1)?.content;
assert.match(JSON.stringify(results), /grew by 9 percent.*refused/s); // results in the order of the calls
