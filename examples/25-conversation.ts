// A conversation: each message is a turn, and the agent sees the earlier ones, even in another process.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, ChatMessage, createRuntime, ModelError, SessionBusyError } from "reeve";
import { fail, say, scriptedModel } from "reeve/testing";
import { sqliteStore } from "reeve/stores/sqlite";

const folder = await mkdtemp(join(tmpdir(), "reeve-conversation-"));
const path = join(folder, "store.sqlite");
const model = scriptedModel([
  say("Heat pumps: sales grew by 9 percent."),
  say("In Portugal by 4 percent."),
  fail(new ModelError({ kind: "billing", message: "no money left" })),
  say("In Spain by 6 percent."),
  say("Here is the mail."),
]);
const lead = agent({ name: "lead", model });
const owner = { user: "ada" };

{
  await using runtime = createRuntime({ agents: [lead], store: await sqliteStore({ path }) });
  const talk = await runtime.sessions.create(lead, { ...owner, id: "report", title: "Heat pumps" });
  await talk.invoke("How is the market in Europe?");
}

// Another process, another day.
const runtime = createRuntime({ agents: [lead], store: await sqliteStore({ path }) });
const talk = await runtime.sessions.get("report", owner);
assert.equal((await talk.invoke("And in Portugal?")).output, "In Portugal by 4 percent.");
assert.equal(model.requests.at(-1)?.messages.length, 3); // the question, its answer, and this question

// A turn that fails leaves no trace.
const [newest, question, before] = (await talk.messages()).items;
assert.equal((await talk.invoke("And in Spain?")).status, "failed");
assert.deepEqual((await talk.messages()).items[0], newest);

// A step back and another question. The old one remains in the tree, but no model sees it.
assert.ok(question && before);
await talk.invoke("And in Spain?", { after: before.id });
const shown = model.requests.at(-1)?.messages.map(ChatMessage.text);
assert.deepEqual(shown, [
  "How is the market in Europe?",
  "Heat pumps: sales grew by 9 percent.",
  "And in Spain?",
]);

// A fork is a conversation of its own.
const draft = await talk.fork();
await draft.invoke("Write a mail about it");
assert.equal((await talk.messages()).items.length, 4);
assert.equal((await draft.messages()).items.length, 6);

// One turn at a time: of two concurrent turns, one is refused and writes nothing.
const both = await Promise.allSettled([talk.invoke("one"), talk.invoke("two")]);
const refused = both.filter((turn) => turn.status === "rejected");
assert.ok(refused.length === 1 && refused[0]?.reason instanceof SessionBusyError);

assert.equal((await runtime.sessions.list(owner)).items.length, 2);
await runtime[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
