// Memory: an agent that remembers a user across conversations, and that shows where a memory came from.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, memory } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";

const remembers = memory({
  blocks: {
    human: { limit: 2_000, description: "The user, in a few lines" },
    project: { limit: 4_000, shared: "tenant" },
  },
  facts: true,
  episodes: { recall: 5 },
});

const model = scriptedModel([
  // Monday: two writes and an answer.
  call("edit_block", { block: "human", old_text: "", new_text: "Ada writes reports on heat pumps." }, [
    "remember",
    { key: "city", value: "Lives in Lisbon" },
  ]),
  say("Noted. Your draft is due in May."),
  // Friday, in another conversation.
  call("recall", { query: "city lisbon draft" }),
  say("Lisbon."),
  say("Hello, Bob."),
]);
const lead = agent({ name: "lead", model, extensions: [remembers] });
await using runtime = createRuntime({ agents: [lead] });
const ada = { tenant: "acme", user: "ada" };

/** Begins a conversation, and returns the system prompt of its last model call. */
const ask = async (text: string, owner = ada): Promise<string> => {
  await (await runtime.sessions.create(lead, owner)).invoke(text);
  const [system] = model.requests.at(-1)?.messages ?? [];
  return system ? ChatMessage.text(system) : "";
};

await ask("I am Ada, from Lisbon");
const shown = await ask("Where do I live?");
assert.match(shown, /Memory block "human" \(33 of 2000 characters\)/);
assert.match(shown, /Ada writes reports on heat pumps\./);
const result = JSON.stringify(model.requests.at(-1)?.messages.at(-1));
assert.match(result, /Lives in Lisbon/);
assert.match(result, /Your draft is due in May/);

// Another user sees nothing of it.
assert.doesNotMatch(await ask("Hi", { tenant: "acme", user: "bob" }), /Ada/);

// Users read and erase their memory.
assert.deepEqual(
  (await runtime.memory.facts(ada)).map(({ key, value }) => [key, value]),
  [["city", "Lives in Lisbon"]],
);
const { conversations } = await runtime.memory.forget({ key: "city" }, ada);
assert.deepEqual(await runtime.memory.facts(ada), []);
// The conversation in which it was said stays, until it is deleted.
assert.equal(conversations.length, 1);
