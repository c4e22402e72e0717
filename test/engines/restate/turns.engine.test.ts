import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChatMessage, createRuntime, SessionId } from "reeve";
import { getPromptWindow, Partition, Session, type SessionEntry } from "reeve/store";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { writer } from "./fixtures/turn-agent.ts";
import { eventually, killWorkers, startWorker } from "./worker-process.ts";
import { sample } from "../../effort.ts";

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-turns-"));
});

afterEach(killWorkers);

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** A turn writes: the session, the message of the user, the call, its result, the answer, and that it is over. */
const writes = [1, 2, 3, 4, 5, 6];
const kills = writes.flatMap((n) => [[n, "before"] as const, [n, "after"] as const]);

/** A runtime without a worker of its own, and workers that may die. */
async function openCrew(file: string) {
  const path = join(folder, file);
  const { ingress, admin } = server;
  const store = await sqliteStore({ path });
  const runtime = createRuntime({
    agents: [writer],
    engine: restate({ ingress, admin, log: () => undefined }),
    store,
  });
  const port = String(await freePort());
  const worker = (...more: readonly string[]): ReturnType<typeof startWorker> =>
    startWorker("turns-worker.ts", [ingress, admin, port, path, ...more]);
  const close = async (): Promise<void> => {
    await runtime[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  return { runtime, worker, [Symbol.asyncDispose]: close };
}

test.each(sample(kills, 0.2))(
  "8.1 a worker killed at write %i of a turn, %s it, loses nothing, doubles nothing, and leaves no half turn",
  async (n, when) => {
    await using crew = await openCrew("turns.sqlite");
    const { runtime, worker } = crew;
    const id = SessionId.of(`talk-${n}-${when}`);
    const session = new Session(runtime.store.sessions, Partition.of(undefined), { id, userId: null });
    const mainPath = async (): Promise<readonly string[]> =>
      (await getPromptWindow(session)).map((message) => `${message.role} ${ChatMessage.text(message)}`);
    const living = await worker();
    expect((await (await runtime.start(writer, "before", { session: id })).result()).status).toBe(
      "completed",
    );
    await eventually(async () => (await runtime.turn(id)) === null);
    const before = await mainPath();
    expect(before).toHaveLength(4);
    await killWorkers();
    await living.exit;

    const dying = await worker(String(n), when);
    const run = await runtime.start(writer, "killed", { session: id });
    await dying.exit;
    const left = await mainPath();
    expect([before.length, before.length + 4]).toContain(left.length);
    expect(left.slice(0, before.length)).toEqual(before);
    await worker();
    expect((await run.result()).status).toBe("completed");
    await eventually(async () => (await runtime.turn(id)) === null);
    const answer = `assistant shown ${before.length + 3}`;
    expect(await mainPath()).toEqual([...before, "user killed", "assistant ", "tool ", answer]);
    const branches = new Set<string | null>();
    for await (const { branch } of session.entries()) branches.add(branch);
    expect([...branches]).toEqual([null]);
  },
);

/** While the summary is written; before and after the only write, which is its entry. */
const killsOfCompaction = [
  ["summary", ""],
  ["1", "before"],
  ["1", "after"],
] as const;

test.each(killsOfCompaction)(
  "8.5 a conversation is compacted once although its worker is killed at %s %s, and its user is notified",
  async (n, when) => {
    await using crew = await openCrew("compactions.sqlite");
    const { runtime, worker } = crew;
    const id = SessionId.of(`summed-${n}-${when}`);
    const talk = await runtime.sessions.create(writer, { id });
    const session = new Session(runtime.store.sessions, Partition.of(undefined), { id, userId: null });
    const living = await worker();
    for (const turn of [1, 2]) await talk.invoke(`${turn}: something to sum up later on`);
    await killWorkers();
    await living.exit;
    const dying = await worker(n, when);
    const run = await talk.startCompaction();
    await dying.exit;
    await worker();
    const { output: entry } = await run.result();
    const entries: SessionEntry[] = [];
    for await (const each of session.path()) entries.push(each);
    const made = entries.filter(({ type }) => type === "compaction");
    expect(made.map((each) => each.id)).toEqual([entry]);
    expect(entries.filter(({ type }) => type === "message")).toHaveLength(8);
    await eventually(async () => (await runtime.turn(id)) === null);
  },
);
