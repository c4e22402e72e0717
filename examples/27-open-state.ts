// Open state: a model sees what is open right now, such as a cart. It is read for every call, and not stored.
import assert from "node:assert/strict";
import { agent, createRuntime, type EphemeralSource, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const cart: string[] = [];

const add = tool({
  name: "add_to_cart",
  description: "Puts an article into the cart",
  input: z.object({ article: z.string() }),
  risk: "safe",
  execute: ({ article }) => `${cart.push(article)} articles`,
});

const openCart: EphemeralSource = {
  name: "cart",
  trust: "trusted", // the shop writes it, no stranger does
  getState: () => (cart.length === 0 ? null : `In the cart: ${cart.join(", ")}.`),
};

const model = scriptedModel([
  call("add_to_cart", { article: "kettle" }),
  say("It is in the cart."),
  say("A kettle."),
]);
const shop = agent({ name: "shop", model, tools: [add], ephemeral: [openCart] });
await using runtime = createRuntime({ agents: [shop], store: memoryStore() });
const talk = await runtime.sessions.create(shop, { user: "ada" });

await talk.invoke("I take the kettle");
const run = await talk.start("What is in my cart?");
assert.equal((await run.result()).output, "A kettle.");
await talk.waitForIdle();

// The first call saw nothing, because nothing was open. Later calls saw the current cart, at the end of the prompt.
const shown = model.requests.map(({ messages }) =>
  JSON.stringify(messages.at(-1)).includes("In the cart: kettle"),
);
assert.deepEqual(shown, [false, true, true]);

// It is not part of the conversation, and the record of a step has only its size and hash.
const { items } = await talk.messages();
assert.ok(!JSON.stringify(items).includes("In the cart"));
const [step] = (await runtime.steps(run.runId)).items;
assert.ok(step);
const parts = (await runtime.prompt(step.stepId)).prompt.filter(({ notStored }) => notStored === "ephemeral");
assert.deepEqual(
  parts.map(({ content, missing }) => [content, missing]),
  [[null, "not-stored"]],
);
