import { AgentId, createRuntime, type Agent, type RunHandle } from "reeve";
import type { Blocker } from "reeve/engine";
import { restate, restateServer, type RestateEngine, type RestateServer } from "reeve/engines/restate";
import { fakeProvider, type FakeProvider } from "reeve/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { eventually, killWorkers, startWorker, type WorkerProcess } from "./worker-process.ts";

let server: RestateServer;
let double: FakeProvider;
let engine: RestateEngine;
let asked: number;
/** Two builds of one program, each with its port; fresh names for each test. */
let old: Build;
let young: Build;
let tests = 0;

interface Build {
  readonly name: string;
  readonly port: number;
}

beforeAll(async () => {
  server = await restateServer();
});

beforeEach(async () => {
  asked = 0;
  tests += 1;
  double = await fakeProvider({ script: () => ({ text: `answer ${(asked += 1)}` }) });
  engine = restate(server);
  old = { name: `old-${tests}`, port: await freePort() };
  young = { name: `young-${tests}`, port: await freePort() };
});

afterEach(async () => {
  await killWorkers();
  await engine[Symbol.asyncDispose]();
  await double.close();
});

afterAll(() => server[Symbol.asyncDispose]());

test("a run finishes on the build it began on, while new ones start on the new one", async () => {
  await work(old, "1");
  const before = await startWaiting("editor");
  await work(young, "1");
  const after = await startWaiting("editor");
  await Promise.all([before.signal("go"), after.signal("go")]);
  expect((await before.result()).output).toEqual(["answer 1", expect.any(String), old.name]);
  expect((await after.result()).output).toEqual(["answer 2", expect.any(String), young.name]);
});

test("a worker that comes back takes no new runs from a newer build", async () => {
  const first = await work(old, "1");
  await work(young, "1");
  await kill(first);
  await work(old, "1");
  expect(await endOfNewRun()).toBe(young.name);
});

test("an older build that takes the port of a newer one replaces it", async () => {
  await kill(await work(old, "1"));
  const bad = await work({ ...young, port: old.port }, "2");
  expect(await endOfNewRun("2")).toBe(young.name);
  await kill(bad);
  await work(old, "1");
  expect(await endOfNewRun()).toBe(old.name);
});

test("an older build on its own port is reported, and takes new runs when it is promoted", async () => {
  await kill(await work(old, "1"));
  const bad = await work(young, "2");
  const back = await work(old, "1");
  expect(back.readOutput()).toContain(
    `new runs start at http://127.0.0.1:${young.port}/v/${young.name}, not here`,
  );
  await kill(bad);
  await expect(engine.promote(young.name)).rejects.toThrow("serve it first");
  await engine.promote(old.name);
  expect(await endOfNewRun()).toBe(old.name);
});

test("a run waits for its build while another has its port", async () => {
  const first = await work(old, "1");
  const run = await startWaiting("editor");
  await kill(first);
  const other = await work({ ...young, port: old.port }, "2");
  await run.signal("go");
  await eventually(() => other.readOutput().includes(`runs of build ${old.name} wait`));
  await waitForBlocker(run, "unserved");
  const own = await startWaiting("editor", "2");
  await own.signal("go");
  expect((await own.result()).output).toEqual(["answer 2", "answer 3", young.name]);
  await kill(other);
  await work(old, "1");
  expect(await run.result()).toMatchObject({ output: ["answer 1", "answer 4", old.name], inDoubtMicros: 0 });
});

test("a run with a missing build waits, and moves to a compatible one without repeating a step", async () => {
  const gone = await work(old, "1");
  const run = await startWaiting("editor");
  expect(await run.blocker()).toBeNull();
  await kill(gone);
  await work(young, "1");
  await run.signal("go");
  expect(await waitForBlocker(run, "unserved")).toMatchObject({
    build: old.name,
    lastError: expect.stringMatching(/^error when calling its worker: .*Connection refused/),
    retryAt: expect.any(Number),
  });
  await expect(engine.moveRuns({ from: young.name })).rejects.toThrow("are the same build");
  expect(await engine.moveRuns({ from: old.name })).toMatchObject({ left: 0 });
  expect(await run.result()).toMatchObject({
    output: ["answer 1", "answer 2", young.name],
    inDoubtMicros: 0,
  });
  expect(asked).toBe(2);
});

test("the spawn options of a child are not in its parent's journal", async () => {
  const gone = await work(old, "1");
  const run = await start("lead");
  // A waiting parent may still wait for its child, whose question a kill would lose.
  await eventually(() => gone.readOutput().includes("helped"));
  await kill(gone);
  await work(young, "1");
  expect(await engine.moveRuns({ from: old.name })).toMatchObject({ left: 0 });
  await run.signal("go");
  expect((await run.result()).output).toEqual(["answer 1", young.name]);
  expect(asked).toBe(1);
});

test("runs move away from a worker that still serves, each when its step has ended", async () => {
  const answers = Promise.withResolvers<void>();
  await double.close();
  double = await fakeProvider({
    script: async () => {
      asked += 1;
      await answers.promise;
      return { text: `answer ${asked}` };
    },
  });
  await work(old, "1");
  const run = await start("editor");
  await eventually(() => asked === 1);
  await work(young, "1");
  const early = await engine.moveRuns({ from: old.name, waitMs: 100 });
  expect(early).toEqual({ moved: 0, left: 1 });
  answers.resolve();
  expect(await engine.moveRuns({ from: old.name })).toEqual({ moved: 1, left: 0 });
  await run.signal("go");
  expect(await run.result()).toMatchObject({
    output: ["answer 1", "answer 2", young.name],
    inDoubtMicros: 0,
  });
  expect(asked).toBe(2);
});

test("an incompatible build refuses a run that is moved there; it waits, and finishes with its own", async () => {
  const gone = await work(old, "1");
  const run = await startWaiting("editor");
  await kill(gone);
  const other = await work(young, "2");
  const own = await startWaiting("editor", "2");
  expect(await engine.moveRuns({ from: old.name })).toMatchObject({ left: 0 });
  await run.signal("go");
  await waitForRefusal(other);
  expect(await run.status()).toBe("waiting");
  expect(await waitForBlocker(run, "version")).toMatchObject({
    build: young.name,
    lastError: "agent editor is at version 2 here; the run began with 1",
  });
  await work(old, "1");
  // A move that was interrupted leaves it like this.
  await pause(run, other);
  expect(await engine.moveRuns({ from: young.name, to: old.name, only: "refused" })).toEqual({
    moved: 1,
    left: 0,
  });
  expect((await run.result()).output).toEqual(["answer 1", "answer 3", old.name]);
  await own.signal("go");
  expect((await own.result()).output).toEqual(["answer 2", "answer 4", young.name]);
});

test("a run that continues in a new execution uses the newest build", async () => {
  await work(old, "1");
  const run = await startWaiting("cycler");
  await work(young, "1");
  await run.signal("go");
  expect((await run.result()).output).toEqual([old.name, young.name]);
  expect(asked).toBe(2);
});

test("a run that continues on an incompatible newest build waits there until it is moved back", async () => {
  await work(old, "1");
  const run = await startWaiting("cycler");
  const other = await work(young, "2");
  await run.signal("go");
  await waitForRefusal(other);
  // The worker reports its refusal before the server has recorded it.
  await waitForBlocker(run, "version");
  expect(await engine.moveRuns({ from: young.name, to: old.name, only: "refused" })).toEqual({
    moved: 1,
    left: 0,
  });
  expect((await run.result()).output).toEqual([old.name, old.name]);
  expect(asked).toBe(2);
});

function work(build: Build, version: string): Promise<WorkerProcess> {
  const { ingress, admin } = server;
  const given = [ingress, admin, String(build.port), double.baseURL, build.name, version];
  return startWorker("versions-worker.ts", given);
}

async function kill({ process: worker, exit }: WorkerProcess): Promise<void> {
  worker.kill("SIGKILL");
  await exit;
}

async function waitForRefusal({ readOutput }: WorkerProcess): Promise<void> {
  const line = /^incompatible-version: agent \w+ is at version 2 here; the run began with 1$/m;
  await eventually(() => line.test(readOutput()));
}

/** Returns the blocker of a run, once it is of this kind. */
async function waitForBlocker(run: RunHandle, kind: Blocker["kind"]): Promise<Blocker | null> {
  let found: Blocker | null = null;
  await eventually(async () => (found = await run.blocker())?.kind === kind);
  return found;
}

/** Pauses the execution of a run in the middle of a try, which its worker then refuses. */
async function pause({ treeId }: RunHandle, worker: WorkerProcess): Promise<void> {
  const caller = `invoked_by_target LIKE '%/${treeId}/%' AND target_service_name LIKE '%.run'`;
  const find = (status: string): string =>
    `SELECT id FROM sys_invocation WHERE ${caller} AND status ${status}`;
  worker.process.kill("SIGSTOP");
  await eventually(async () => (await query(find("= 'running'"))).length === 1);
  const [execution] = await query(find("= 'running'"));
  await fetch(new URL(`/invocations/${execution}/pause`, server.admin), { method: "PATCH" });
  worker.process.kill("SIGCONT");
  await eventually(async () => (await query(find("= 'paused'"))).length === 1);
}

/** Returns the ids that a query of Restate finds. */
async function query(text: string): Promise<readonly string[]> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const body = JSON.stringify({ query: text });
  const answer = await fetch(new URL("/query", server.admin), { method: "POST", headers, body });
  const { rows }: { readonly rows: readonly { readonly id: string }[] } = JSON.parse(await answer.text());
  return rows.map(({ id }) => id);
}

/** Only starts trees here: the agents' code is in the workers. */
function start(name: string, version = "1"): Promise<RunHandle> {
  const agent: Agent = { id: AgentId.of(name), version, run: async () => null };
  return createRuntime({ agents: [agent], engine: restate(server) }).start(agent, "go");
}

async function startWaiting(name: string, version = "1"): Promise<RunHandle> {
  const run = await start(name, version);
  await eventually(async () => (await run.status()) === "waiting");
  return run;
}

/** The build on which a run ends that is started now. */
async function endOfNewRun(version = "1"): Promise<unknown> {
  const run = await startWaiting("editor", version);
  await run.signal("go");
  const { output } = await run.result();
  return Array.isArray(output) ? output.at(-1) : output;
}
