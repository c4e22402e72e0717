// A conversation that outlives its process: a tree of messages in a file, and a window of it for the model.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChatMessage, SessionId } from "reeve";
import { EntryId, exportSession, getPromptWindow, Session, type EntryDraft } from "reeve/store";
import { sqliteStore } from "reeve/stores/sqlite";

const folder = await mkdtemp(join(tmpdir(), "reeve-sessions-"));
const path = join(folder, "store.sqlite");
const acme = { tenantId: null };

const key = { id: SessionId.of("talk"), userId: null };
let count = 0;
const said = (message: ChatMessage): EntryDraft => {
  const id = EntryId.of(`${++count}`); // the same id again would be the same entry
  return { id, at: Date.now(), type: "message", message };
};

{
  const talk = new Session((await sqliteStore({ path })).sessions, acme, key);
  await talk.open({ startedAt: Date.now() });
  await talk.append([
    said(ChatMessage.user("How did sales develop?")),
    said(ChatMessage.assistant("They grew by 9 percent.")),
  ]);
  await talk.append([
    said(ChatMessage.user("And prices?")),
    said(ChatMessage.assistant("That is not known.")),
  ]);
}

// Another process, another day.
const { sessions } = await sqliteStore({ path });
const talk = new Session(sessions, acme, key);
assert.equal((await getPromptWindow(talk)).length, 4);

// A step back, and a better question: the old one remains in the tree, but no model sees it.
await talk.append([said(ChatMessage.user("And subsidies?"))], { after: EntryId.of("2") });
const window = await getPromptWindow(talk, { maxTokens: 1_000 });
console.log(window.map(ChatMessage.text));
assert.deepEqual(window.map(ChatMessage.text), [
  "How did sales develop?",
  "They grew by 9 percent.",
  "And subsidies?",
]);

// A fork is a conversation of its own, with the path up to there.
const fork = await talk.fork(EntryId.of("4"), { id: SessionId.of("prices"), startedAt: Date.now() });
assert.equal((await getPromptWindow(fork)).length, 4);

let lines = 0;
for await (const line of exportSession(talk)) lines += line.split("\n").filter((text) => text !== "").length;
assert.equal(lines, 6); // a header and five entries: every message is kept
await rm(folder, { recursive: true });
