import { randomUUID } from "node:crypto";
import {
  AgentId,
  createRuntime,
  ReeveError,
  type Agent,
  type CreateRuntimeOptions,
  type NumberedEvent,
  type RunHandle,
  type Runtime,
} from "reeve";
import { type Engine } from "reeve/engine";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startStopwatch } from "../../lost-time.ts";
import { patienceMs, expectWithin } from "../../effort.ts";

/** Less than the default of 10 s. The tree ends a run so long after its cancel or its deadline. */
const cancelGraceS = 3;
/** A run that cannot execute ends within 8 s of its cancel or its deadline. */
const limitMs = 8_000;

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

/** One tree with a child that can be kept from executing. */
interface Stage {
  readonly namespace: string;
  readonly engine: Engine;
  /** A runtime that serves the tree, whatever happened to the first worker. */
  runtime: Runtime;
  readonly run: RunHandle;
  readonly child: RunHandle;
  /** Makes the child's code request an operation that differs from its journal. */
  readonly diverge: () => void;
}

async function serve(
  namespace: string,
  build: string,
  agents: readonly Agent[],
  more: Pick<CreateRuntimeOptions, "onBlocked"> = {},
): Promise<{ readonly runtime: Runtime; readonly engine: Engine }> {
  const options = { ...server, namespace, build, inactivityTimeoutMs: 200, log: () => undefined };
  const engine = restate(options);
  const runtime = createRuntime({ ...more, agents, engine, cancelGraceS });
  await runtime.serve({ port: 0, deltas: null });
  return { runtime, engine };
}

async function stage(
  deadlineS: number | undefined,
  more: Pick<CreateRuntimeOptions, "onBlocked"> = {},
): Promise<Stage> {
  const namespace = `stuck-${randomUUID()}`;
  let hasChanged = false;
  const child: Agent = {
    id: AgentId.of("child"),
    run: async (ctx) => {
      await ctx.step("large", () => "x".repeat(2_000_000));
      await ctx.step(hasChanged ? "other" : "one", () => null);
      await ctx.waitFor("go");
      return "went on";
    },
  };
  const lead: Agent = {
    id: AgentId.of("lead"),
    run: async (ctx) => {
      const budget = deadlineS === undefined ? {} : { budget: { deadlineS } };
      const { status, stopReason } = await ctx.join(await ctx.spawn(child, "work", budget));
      return [status, stopReason];
    },
  };
  const { runtime, engine } = await serve(namespace, "monday", [lead, child], more);
  const run = await runtime.start(lead, "go", { session: "talk", spawn: { maxAgents: 2 } });
  const handle = runtime.run(`${run.treeId}~1`);
  await expectSoon(() => handle.status().catch(() => null), "waiting");
  // It has left the worker's memory: the next wake-up replays it.
  const query = `SELECT status FROM sys_invocation WHERE target_service_name = '${namespace}.run'`;
  await expectSoon(() => rows(query), [{ status: "suspended" }, { status: "suspended" }]);
  return { namespace, engine, runtime, run, child: handle, diverge: () => void (hasChanged = true) };
}

/** `expect.poll` needs to know its test, which fails for concurrent tests. This replaces it. */
async function expectSoon(read: () => unknown, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), {
    timeout: patienceMs(),
    interval: 50,
  });
}

async function rows(query: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const answer = await fetch(new URL("/query", server.admin), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows: found }: { rows: Readonly<Record<string, string>>[] } = JSON.parse(await answer.text());
  return found;
}

/** The ways in which a run loses its execution. */
const ways: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  "its replay has diverged": async ({ child, diverge }) => {
    diverge();
    await child.signal("go");
    await expectSoon(async () => (await child.blocker())?.kind, "diverged");
  },
  "its invocation was killed at the engine": async ({ namespace }) => {
    const found = await rows(
      `SELECT id FROM sys_invocation WHERE target_service_name = '${namespace}.run' ORDER BY created_at DESC LIMIT 1`,
    );
    const path = `/invocations/${found[0]?.["id"]}/kill`;
    expect((await fetch(new URL(path, server.admin), { method: "PATCH" })).ok).toBe(true);
  },
  "a large result of it is lost": async ({ namespace, engine, child }) => {
    const parts = await rows(
      `SELECT service_key, key FROM state WHERE service_name = '${namespace}.content'`,
    );
    expect(parts.length).toBeGreaterThan(0);
    for (const { service_key: key = "", key: part = "" } of parts)
      await engine.call({ type: "content", key }, "remove", { names: [part.split("/")[1] ?? ""] });
    await child.signal("go");
    await expectSoon(async () => (await child.blocker())?.kind, "failing");
  },
};

describe.concurrent.each(Object.entries(ways))("a run of which %s", (_, breakIt) => {
  test("ends when it is cancelled; its parent continues", async () => {
    const at = await stage(undefined);
    await breakIt(at);
    const elapsed = startStopwatch();
    const receipt = await at.child.cancel("give up");
    expectWithin(limitMs, elapsed());
    expect(receipt.runs.map(({ runId }) => runId)).toEqual([at.child.runId]);
    await expectOver(at, ["cancelled", "cancelled"]);
  });

  test("ends by its deadline; its parent continues", async () => {
    const deadlineS = 8;
    const elapsed = startStopwatch();
    const at = await stage(deadlineS);
    await breakIt(at);
    await at.run.result();
    expectWithin(deadlineS * 1000 + limitMs + 5_000, elapsed());
    await expectOver(at, ["cancelled", "deadline"]);
  });
});

describe.concurrent("a tree without a worker of its build", () => {
  test("ends when it is cancelled", async () => {
    const at = await stage(undefined);
    await withoutWorker(at);
    const elapsed = startStopwatch();
    const receipt = await at.runtime.run(at.run.treeId).cancel("give up");
    expectWithin(limitMs, elapsed());
    expect(receipt.runs).toHaveLength(2);
    const result = await at.runtime.run(at.run.treeId).result();
    expect(result).toMatchObject({ status: "cancelled", output: null });
    await expectSoon(() => at.runtime.turn("talk"), null);
    await at.runtime[Symbol.asyncDispose]();
  });

  test("has a child that ends by its deadline", async () => {
    const at = await stage(8);
    await withoutWorker(at);
    const child = at.runtime.run(at.child.runId);
    expect(await child.result()).toMatchObject({ status: "cancelled", stopReason: "deadline" });
    await at.runtime[Symbol.asyncDispose]();
  });
});

describe.concurrent.each(["hold", "fail"] as const)("a sweep with the policy %s", (onBlocked) => {
  test("finds a run that was killed at the engine", async () => {
    const at = await stage(undefined, { onBlocked });
    const events = historyOf(at.run);
    await ways["its invocation was killed at the engine"]?.(at);
    await expectSoon(() => at.runtime.sweep(), 1);
    expect(await at.runtime.sweep()).toBe(0);
    const isHeld = onBlocked === "hold";
    expect(await at.child.status()).toBe(isHeld ? "paused" : "failed");
    if (isHeld) await at.child.cancel("give up");
    const status = isHeld ? "cancelled" : "failed";
    expect(await at.run.result()).toMatchObject({ output: [status, expect.anything()] });
    const reason = /^it cannot execute \(killed\): killed$/;
    const told = (await events).flatMap((event) => {
      if (event.type === "run.paused") return [event.reason ?? ""];
      return event.type === "run.end" && event.error ? [event.error.message ?? ""] : [];
    });
    expect(told).toEqual([expect.stringMatching(reason)]);
    await at.runtime[Symbol.asyncDispose]();
  });
});

describe.concurrent("without any worker", () => {
  test("every call of a handle answers in bounded time, and is carried out later", async () => {
    const at = await stage(undefined);
    const { agents } = at.runtime;
    await at.runtime[Symbol.asyncDispose]();
    const options = { ...server, namespace: at.namespace, requestTimeoutMs: 1_000, log: () => undefined };
    await using client = createRuntime({ agents, engine: restate(options) });
    const run = client.run(at.run.treeId);
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      cancel: () => run.cancel("give up"),
      result: () => run.result(),
      status: () => run.status(),
      pause: () => run.pause(),
      steer: () => run.steer("hurry"),
      approve: () => run.approve(`${at.run.treeId}~0:tool:1`),
      topUp: () => run.topUp({ maxTurns: 1 }),
      signal: () => run.signal("go"),
    };
    const elapsed = startStopwatch();
    const codes = await Promise.all(
      Object.values(calls).map((call) => call().then(() => "answered", codeOf)),
    );
    expect(codes).toEqual(Object.keys(calls).map(() => "no-answer"));
    expectWithin(5_000, elapsed());
    const { runtime: later } = await serve(at.namespace, "monday", agents);
    expect(await later.run(at.run.treeId).result()).toMatchObject({ status: "cancelled" });
    await later[Symbol.asyncDispose]();
  });
});

const codeOf = (error: unknown): string => (ReeveError.is(error) ? error.code : String(error));

async function historyOf(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

/** The worker of the tree's build goes; one of another build serves the tree itself. */
async function withoutWorker(at: Stage): Promise<void> {
  const { agents } = at.runtime;
  await at.runtime[Symbol.asyncDispose]();
  ({ runtime: at.runtime } = await serve(at.namespace, "tuesday", agents));
}

/** The parent has received the end; slot and session are free. */
async function expectOver({ runtime, run }: Stage, output: readonly string[]): Promise<void> {
  expect(await run.result()).toMatchObject({ status: "completed", output });
  expect((await run.ledger()).tree.liveAgents).toBe(0);
  // The session is told after the caller.
  await expectSoon(() => runtime.turn("talk"), null);
  await runtime[Symbol.asyncDispose]();
}
