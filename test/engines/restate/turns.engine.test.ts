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

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-turns-"));
}, 300_000);

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

test("8.1 a worker killed at any write of a turn loses nothing, doubles nothing, and never leaves half a turn", async () => {
  await using crew = await openCrew("turns.sqlite");
  const { runtime, worker } = crew;
  const id = SessionId.of("talk");
  const session = new Session(runtime.store.sessions, Partition.of(undefined), { id, userId: null });
  const mainPath = async (): Promise<readonly string[]> =>
    (await getPromptWindow(session)).map((message) => `${message.role} ${ChatMessage.text(message)}`);
  for (const [n, when] of kills) {
    const before = await mainPath();
    const dying = await worker(String(n), when);
    const run = await runtime.start(writer, `killed ${when} write ${n}`, { session: id });
    await dying.exit;
    const left = await mainPath();
    expect([before.length, before.length + 4], `${n} ${when}`).toContain(left.length);
    expect(left.slice(0, before.length)).toEqual(before);
    await worker();
    expect((await run.result()).status).toBe("completed");
    await eventually(async () => (await runtime.turn(id)) === null);
    const answer = `assistant shown ${before.length + 3}`;
    const said = [`user killed ${when} write ${n}`, "assistant ", "tool ", answer];
    expect(await mainPath(), `${n} ${when}`).toEqual([...before, ...said]);
    await killWorkers();
  }
  const branches = new Set<string | null>();
  for await (const { branch } of session.entries()) branches.add(branch);
  expect([...branches]).toEqual([null]);
}, 600_000);

/** While the summary is written; before and after the only write, which is its entry. */
const killsOfCompaction = [
  ["summary", ""],
  ["1", "before"],
  ["1", "after"],
] as const;

test("8.5 a conversation is compacted once although its worker is killed, and its user is notified", async () => {
  await using crew = await openCrew("compactions.sqlite");
  const { runtime, worker } = crew;
  const talk = await runtime.sessions.create(writer, { id: "summed" });
  const session = new Session(runtime.store.sessions, Partition.of(undefined), {
    id: SessionId.of("summed"),
    userId: null,
  });
  for (const [index, [n, when]] of killsOfCompaction.entries()) {
    const living = await worker();
    for (const turn of [1, 2]) await talk.invoke(`${index}.${turn}: something to sum up later on`);
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
    expect(made.map(({ id }) => id)[0], `${n} ${when}`).toBe(entry);
    expect(made, `${n} ${when}`).toHaveLength(index + 1);
    expect(entries.filter(({ type }) => type === "message")).toHaveLength(8 * (index + 1));
    await eventually(async () => (await runtime.turn(session.key.id)) === null);
    await killWorkers();
  }
}, 300_000);
