// Switches: an agent that is disabled stops before its next step, on all workers, and goes on when it is enabled.
import assert from "node:assert/strict";
import { agent, createRuntime, DisabledError, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import * as z from "zod";

const sent: string[] = [];
const sendEmail = tool({
  name: "send_email",
  description: "Sends an e-mail.",
  risk: "safe",
  input: z.object({ to: z.string() }),
  execute: async ({ to }) => {
    sent.push(to);
    return "sent";
  },
});
const model = scriptedModel([
  call("send_email", { to: "ann@example.com" }),
  say("It is not possible now."),
  call("send_email", { to: "ann@example.com" }),
  say("Done."),
]);
const writer = agent({ name: "writer", model, tools: [sendEmail] });
await using runtime = createRuntime({ agents: [writer] });
const { switches } = runtime;

// A tool: the model learns that it is disabled, and why.
await switches.disable({ tool: "send_email" }, { reason: "wrong addresses", by: "ops" });
const first = await runtime.start(writer, "Write to Ann.");
assert.equal((await first.result()).output, "It is not possible now.");
assert.deepEqual(sent, []);
assert.equal(await switches.enable({ tool: "send_email" }), true);

// An agent: no tree of it starts.
await switches.disable({ agent: "writer" }, { reason: "it leaks drafts" });
await assert.rejects(runtime.start(writer, "Write to Ann."), (error) => {
  assert.ok(error instanceof DisabledError);
  assert.equal(error.message, "agent writer is disabled: it leaks drafts");
  return true;
});
const [disabled] = await switches.list();
assert.deepEqual([disabled?.kind, disabled?.name, disabled?.tenant], ["agent", "writer", null]);

await switches.enable({ agent: "writer" });
const second = await runtime.start(writer, "Write to Ann.");
assert.equal((await second.result()).output, "Done.");
assert.deepEqual(sent, ["ann@example.com"]);
console.log("disabled, refused, enabled, done");
