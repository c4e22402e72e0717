import { AgentId, ChatMessage, RetryableError, RunId, SessionId, TreeId } from "reeve";
import { Partition, Session } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { systemClock } from "#base";
import { RunSession } from "../../src/run/run-session.ts";

const treeId = TreeId.of("tree");
const runId = RunId.root(treeId);
const key = { id: SessionId.of("talk"), userId: null };

/** A store whose writes wait, and a session of a run on it. */
function setUp(): { readonly run: RunSession; readonly stored: Session; readonly held: Held } {
  const store = memoryStore();
  const held: Held = { gate: null, fails: false };
  const { sessions } = store;
  const append = sessions.append.bind(sessions);
  sessions.append = async (...given) => {
    await held.gate;
    if (held.fails) throw new Error("the connection is cut");
    await append(...given);
  };
  const scope = {
    tenantId: null,
    userId: null,
    sessionId: key.id,
    treeId,
    runId,
    channel: null,
    metadata: {},
  };
  const run = new RunSession({
    store,
    scope,
    agentId: AgentId.of("writer"),
    clock: systemClock,
    place: { isKept: true, isNamed: true },
  });
  return { run, held, stored: new Session(sessions, Partition.of(undefined), key) };
}

interface Held {
  gate: Promise<void> | null;
  fails: boolean;
}

const texts = async (session: Session): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const entry of session.entries())
    found.push(entry.type === "message" ? ChatMessage.text(entry.message) : entry.type);
  return found;
};

test("a message that is added while others are written is written with the next ones", async () => {
  const { run, stored, held } = setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  held.gate = promise;
  run.append(ChatMessage.user("one"), undefined);
  const first = run.flush();
  // The write has begun once its gate is waited for.
  await Promise.resolve();
  await new Promise((done) => setImmediate(done));
  run.append(ChatMessage.assistant("two"), undefined);
  resolve();
  await first;
  expect(await run.adopt()).toBe(`${runId}.2`);
  expect(await texts(stored)).toEqual(["one", "two"]);
});

test("messages that could not be written are written by the next step", async () => {
  const { run, stored, held } = setUp();
  held.fails = true;
  run.append(ChatMessage.user("one"), undefined);
  await expect(run.flush()).rejects.toThrow(RetryableError);
  await expect(run.adopt()).rejects.toThrow(/cannot be reached in the store: the connection is cut/);
  held.fails = false;
  run.append(ChatMessage.assistant("two"), undefined);
  expect(await run.adopt()).toBe(`${runId}.2`);
  // Repeated because its record was lost, it changes nothing.
  expect(await run.adopt()).toBe(`${runId}.2`);
  expect(await texts(stored)).toEqual(["one", "two"]);
});

test("a turn that differs from its stored form is not reported as saved, and is written again", async () => {
  const { run, stored } = setUp();
  run.append(ChatMessage.user("one"), undefined);
  await run.flush();
  await stored.dropBranch(runId);
  await expect(run.adopt()).rejects.toThrow(/it ends with nothing, not with tree~0\.1/);
  expect(await run.adopt()).toBe(`${runId}.1`);
  expect(await texts(stored)).toEqual(["one"]);
});
