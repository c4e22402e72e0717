import { AgentId, ChatMessage, RetryableError, RunId, SessionId, TreeId } from "reeve";
import { EntryId, Partition, Session, TurnLostError } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { systemClock } from "#base";
import type { TurnPosition } from "#tree";
import { RunSession } from "../../src/run/run-session.ts";

const treeId = TreeId.of("tree");
const runId = RunId.root(treeId);
const key = { id: SessionId.of("talk"), userId: null };

/** A store whose writes wait, and a session of a run on it. */
function setUp(): SetUp {
  const store = memoryStore();
  const held: Held = { gate: null, fails: false };
  const { sessions } = store;
  const append = sessions.append.bind(sessions);
  sessions.append = async (...given) => {
    await held.gate;
    if (held.fails) throw new Error("the connection is cut");
    return append(...given);
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
  const execute = (place: Partial<TurnPosition> = {}): RunSession =>
    new RunSession({
      store,
      scope,
      agentId: AgentId.of("writer"),
      clock: systemClock,
      place: { isKept: true, isNamed: true, ...place },
    });
  const stored = new Session(sessions, Partition.of(undefined), key);
  return { run: execute(), execute, held, stored };
}

interface SetUp {
  readonly run: RunSession;
  /** Begins another execution of the run. */
  readonly execute: (place?: Partial<TurnPosition>) => RunSession;
  readonly stored: Session;
  readonly held: Held;
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
  await stored.remove();
  await expect(run.adopt()).rejects.toThrow(/lacks entries, or has others than up to tree~0\.1/);
  expect(await run.adopt()).toBe(`${runId}.1`);
  expect(await texts(stored)).toEqual(["one"]);
});

/** Appends a message of another writer to the conversation. */
const say = (stored: Session, id: string): Promise<void> =>
  stored.append([{ id: EntryId.of(id), at: 1, type: "message", message: ChatMessage.user(id) }]);

const lost = (reason: string) => expect.objectContaining({ code: "turn-lost", session: "talk", reason });

test("a turn that was overtaken is lost, also for a later execution of its run", async () => {
  const { run, execute, stored } = setUp();
  await stored.open({ startedAt: 1 });
  await say(stored, "before");
  run.append(ChatMessage.user("one"), undefined);
  await run.flush();
  await say(stored, "meanwhile");
  await expect(run.adopt()).rejects.toEqual(lost("overtaken"));
  const again = execute();
  again.append(ChatMessage.user("one"), undefined);
  again.append(ChatMessage.assistant("two"), undefined);
  // Its answer belongs to the conversation as it was when its first entry was written.
  await expect(again.adopt()).rejects.toEqual(lost("overtaken"));
  expect(await stored.leaf()).toBe("meanwhile");
});

test("a turn that goes back is lost if the conversation has changed since it began", async () => {
  const { execute, stored } = setUp();
  await stored.open({ startedAt: 1 });
  for (const id of ["a", "b"]) await say(stored, id);
  const run = execute({ after: EntryId.of("a") });
  run.append(ChatMessage.user("one"), undefined);
  await run.flush();
  await say(stored, "c");
  await expect(run.adopt()).rejects.toEqual(lost("overtaken"));
  const again = execute({ after: EntryId.of("a") });
  again.append(ChatMessage.user("one"), undefined);
  expect(await again.adopt()).toBe(`${runId}.1`);
});

test("the writes of a run whose turn was settled are refused, and not repeated", async () => {
  const { run, stored } = setUp();
  run.append(ChatMessage.user("one"), undefined);
  await run.flush();
  await stored.settle(runId, { end: null });
  run.append(ChatMessage.assistant("two"), undefined);
  await expect(run.flush()).rejects.toThrow(TurnLostError);
  await expect(run.adopt()).rejects.toEqual(lost("settled"));
  expect(await texts(stored)).toEqual([]);
});
