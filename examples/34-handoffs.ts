// Handoffs: a desk gives the conversation to billing, which answers, begins the next turn, and can give it back.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, handoff, withoutTools } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";

const billingModel = scriptedModel([
  say("Invoice 7 is paid."),
  say("So is invoice 6."),
  call("handoff_to_desk", { message: "The user asks for the opening hours." }),
]);
const billing = agent({
  name: "billing",
  description: "Invoices and refunds",
  instructions: "You know every invoice.",
  model: billingModel,
  // A name: two agents cannot hold each other.
  handoffs: [handoff("desk")],
});
const deskModel = scriptedModel([
  call("handoff_to_billing", { message: "It is about invoice 7." }),
  say("We are open from 9 to 5."),
]);
const desk = agent({
  name: "desk",
  instructions: "Find out what it is about.",
  model: deskModel,
  handoffs: [handoff(billing, { filter: withoutTools })],
});

await using runtime = createRuntime({ agents: [desk] });
const talk = await runtime.sessions.create(desk, { user: "ada" });

// The desk hands off, and billing answers.
const first = await talk.start("My invoice is wrong.");
assert.equal((await first.result()).output, "Invoice 7 is paid.");
const handoffs: string[] = [];
for await (const event of first.events())
  if (event.type === "handoff.made") handoffs.push(`${event.agent} to ${event.to}`);
assert.deepEqual(handoffs, ["desk to billing"]);
assert.deepEqual(
  billingModel.requests[0]?.messages.map((message) => ChatMessage.text(message)),
  [
    "You know every invoice.",
    "My invoice is wrong.",
    "desk hands the conversation over to you: It is about invoice 7.",
  ],
);

// The next turn begins with billing: the desk is not asked.
await talk.waitForIdle();
assert.equal((await talk.invoke("And invoice 6?")).output, "So is invoice 6.");
assert.equal(deskModel.requests.length, 1);

// Billing gives the conversation back.
assert.equal((await talk.invoke("When are you open?")).output, "We are open from 9 to 5.");
