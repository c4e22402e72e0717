import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { json } from "node:stream/consumers";
import { join } from "node:path";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { delegateEngine, type Engine, Json, type NumberedEvent, StepId, Usage } from "#kernel";
import { Runtime } from "#runtime";
import { withProtocol } from "../../src/tree/protocol-number.ts";
import { freePort } from "../free-port.ts";
import { differences } from "./differences.ts";
import { perCall, type Witness } from "./doubles.ts";
import type { LedgerView, Outcome } from "./play.ts";
import { scenarios } from "./scenarios.ts";
import type { Scenario } from "./staff.ts";
import { keyOfStep, withSecret } from "./stage.ts";
import { isFull, seed } from "../effort.ts";

/** A crash of a process loses all calls of a scenario in flight. */
const mostLost = 3;
/** Kinds of places to be killed at: each costs a process. */
const mostKinds = isFull ? 40 : 6;
/** `all` visits every kind of crash point, any other value those with that name. */
const wanted = process.env["REEVE_CRASH_POINTS"];
/** The order of events varies: a worker that did not reach its crash point is tried again. */
const mostTries = 4;
/** Much longer than any scenario takes, whatever is killed. */
const longestPlayMs = 40_000;

/** The n-th place of a kind, from 1. */
interface End {
  readonly kind: string;
  readonly nth: number;
}

let server: RestateServer;
let engine: Engine;
let office: Server;
let standby: Promise<ChildProcess>;
let worker: ChildProcess;
let port: number;
let trees = 0;
/** Observations of the witness, by tree. */
const seen = new Map<string, string[]>();
const alive = new Set<ChildProcess>();

beforeAll(async () => {
  server = await restateServer();
  port = await freePort();
  office = createServer((request, response) => {
    void json(request).then((body) => {
      const { tree, what } = Json.as<{ readonly tree: string; readonly what: string }>(Json.of(body));
      seen.set(tree, [...(seen.get(tree) ?? []), what]);
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(office, "listening");
  engine = restate({ ...server, log: () => undefined });
  standby = load();
  await takeOver(null);
});

afterAll(async () => {
  await standby;
  const ended = [...alive].map((child) => once(child, "exit"));
  for (const child of alive) child.kill("SIGKILL");
  await Promise.all(ended);
  await engine[Symbol.asyncDispose]();
  office.close();
  await server[Symbol.asyncDispose]();
});

test(
  "a worker killed at any point changes neither the answer nor the ledger nor the effects",
  async () => {
    const kinds = await kindsOfPlaces();
    const step = Math.ceil(kinds.size / mostKinds);
    const isWanted = (kind: string, index: number): boolean =>
      wanted === undefined
        ? (index + Number.parseInt(seed, 16)) % step === 0
        : wanted === "all" || kind.includes(wanted);
    const walked = [...kinds].filter(([kind], index) => isWanted(kind, index));
    const found: Record<string, readonly string[]> = {};
    const missed: string[] = [];
    for (const [kind, place] of walked) {
      const { isHit, changed } = await playWithKillAt(kind, place);
      if (!isHit) missed.push(kind);
      if (changed.length > 0) found[`${place.scenario.name}, killed at ${kind}`] = changed;
    }
    process.stdout.write(
      `crash points on Restate: killed at ${walked.length - missed.length} of ${kinds.size} kinds, ` +
        `${Object.keys(found).length} with differences, not come to: ${missed.join("; ") || "none"}\n`,
    );
    expect(found).toEqual({});
    // In a sample of six kinds, the missed share varies more.
    expect(missed.length).toBeLessThan(walked.length / (isFull ? 4 : 2));
  },
  wanted === undefined ? undefined : 3_600_000,
);

/** The position of a kind of crash point, and the scenario's undisturbed result. */
interface Place {
  readonly scenario: Scenario;
  readonly was: Outcome;
  /** Number of crash points of that kind. */
  readonly count: number;
}

async function kindsOfPlaces(): Promise<ReadonlyMap<string, Place>> {
  const kinds = new Map<string, Place>();
  for (const scenario of scenarios) {
    await order(worker, null);
    const was = await play(scenario);
    const points = await order(worker, null);
    for (const kind of points.filter((point) => !kinds.has(point)))
      kinds.set(kind, { scenario, was, count: points.filter((point) => point === kind).length });
  }
  return kinds;
}

/**
 * Plays a scenario until its worker has been killed at the crash point: first in the middle of such points, then at the
 * first.
 */
async function playWithKillAt(
  kind: string,
  { scenario, was, count }: Place,
): Promise<{ readonly isHit: boolean; readonly changed: readonly string[] }> {
  for (let tries = 0; tries < mostTries; tries++) {
    const death = await killAtPoint({ kind, nth: tries === 0 ? Math.ceil(count / 2) : 1 });
    const outcome = await Promise.race([play(scenario), tooLong()]);
    if (outcome === null) return { isHit: true, changed: [`not over after ${longestPlayMs} ms`] };
    const isHit = (await death()) === kind;
    const changed = differences(was, outcome, { mostLost });
    if (isHit || changed.length > 0) return { isHit, changed };
  }
  return { isHit: false, changed: [] };
}

const tooLong = (): Promise<null> =>
  new Promise((resolve) => setTimeout(resolve, longestPlayMs, null).unref());

test("5.4 a run whose worker dies three times in the same model step is paused with the reason", async () => {
  const agent = scenarios[0]?.agents(silentWitness)[0];
  if (!agent) throw new Error("no agent");
  const runtime = new Runtime({ agents: [agent], engine: clientOf(engine) });
  const id = `tree-${++trees}`;
  const end = { kind: "model: after", nth: 1 };
  await order(worker, end);
  const run = await runtime.start(agent, "task", { id, budget: { maxTokens: 1_000 } });
  for (const next of [end, end, null]) {
    await once(worker, "close");
    await takeOver(next);
  }
  const isPaused = async (): Promise<boolean> => (await run.status()) === "paused";
  while (!(await isPaused())) await new Promise((resolve) => setTimeout(resolve, 5));
  const { settled, reserved, inDoubt } = (await viewOf(id, "-")).tree.account;
  expect([settled, reserved, seen.get(id)?.length]).toEqual([none, none, 3]);
  expect(inDoubt.tokens).toBeGreaterThanOrEqual(3 * Usage.tokens(perCall));
  expect(inDoubt.tokens).toBeLessThanOrEqual(1_000);
  await run.resume();
  expect((await run.result()).status).toBe("completed");
  const reasons: unknown[] = [];
  for await (const event of run.events()) if (event.type === "run.paused") reasons.push(event.reason);
  expect(reasons).toEqual([`3 attempts of ${id}~0:model:1 were lost`]);
});

const none = { tokens: 0, costMicros: 0 };

/**
 * Kills the worker at the crash point, if it gets there; another one takes over at once. Returns a function for its
 * last output: empty if it did not get there, because the order of events varies.
 */
async function killAtPoint(end: End): Promise<() => Promise<string>> {
  const victim = worker;
  let said = "";
  const listen = (chunk: unknown): string => (said += String(chunk));
  victim.stdout?.on("data", listen);
  await order(victim, end);
  const spare = new AbortController();
  const replaced = once(victim, "close", { signal: spare.signal }).then(() => takeOver(null));
  replaced.catch(() => undefined);
  return async () => {
    // It may get there while the kill is being called off.
    const spared = order(victim, null).then(
      () => true,
      () => false,
    );
    if (await Promise.race([spared, replaced.then(() => false)])) spare.abort();
    else await replaced;
    victim.stdout?.off("data", listen);
    return said;
  };
}

async function play(scenario: Scenario): Promise<Outcome> {
  const agents = scenario.agents(silentWitness);
  const id = `tree-${++trees}`;
  const runtime = new Runtime({
    agents,
    engine: clientOf(engine),
  });
  const run = await scenario.drive({
    run: (each) => runtime.run(each, { tenant }),
    surely: (call) => call(),
    start: async (options) => {
      await runtime.tenants.setBudget({ tenant }, { maxTokens: 1_000_000, per: "ever" });
      const session = options?.session === undefined ? {} : { session: id };
      return runtime.start(agents[0], "task", { ...options, ...session, id, tenant });
    },
    waitUntil: async (holds) => {
      while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  });
  const { status, stopReason, output, usage } = await run.result();
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  const view = await viewOf(id, tenant);
  const { settled, reserved, inDoubt } = view.tree.account;
  const steps = stepsByKey(events);
  const told = (seen.get(id) ?? []).map((what) => {
    const [kind, key = ""] = what.split(" ");
    return (kind === "told" ? `told ${steps.get(key) ?? key}` : what).replaceAll(id, "tree");
  });
  const effects = new Map<string, number>();
  for (const what of told.filter((each) => each.startsWith("told ")))
    effects.set(what, (effects.get(what) ?? 0) + 1);
  return {
    result: { status, stopReason, output, usage },
    settled,
    reserved,
    inDoubt: inDoubt.tokens,
    slots: view.live.length,
    bill: told.filter((each) => each.startsWith("asked ")),
    effects,
    events,
    left: 0,
    points: [],
  };
}

/** Returns steps by idempotency key: a key does not reveal its step, and differs for each tree. */
function stepsByKey(events: readonly NumberedEvent[]): ReadonlyMap<string, string> {
  const runs = [...new Set(events.map(({ runId }) => runId))];
  const notes = runs.flatMap((run) =>
    Array.from({ length: 20 }, (_, number) => StepId.of(run, "note", number)),
  );
  const tools = events.flatMap((event) => (event.type === "tool.start" ? [event.step] : []));
  return new Map([...tools, ...notes].map((step) => [keyOfStep(step), step]));
}

async function viewOf(id: string, owner: string): Promise<LedgerView> {
  const asked = withProtocol({ run: `${id}~0` });
  return Json.as(await engine.call({ type: "tree", key: `${owner}/${id}` }, "ledger", asked));
}

const tenant = "acme";

/** Agents that only name themselves here: their code is the workers'. */
const silentWitness: Witness = {
  recordModelCall: async () => undefined,
  recordToolCall: async () => undefined,
};

const clientOf = (inner: Engine): Engine =>
  delegateEngine(inner, { call: (to, method, argument) => inner.call(to, method, withSecret(argument)) });

/** Sets the crash point of the worker, if any. Returns the points reached since the last command. */
async function order(child: ChildProcess, end: End | null, begins = false): Promise<readonly string[]> {
  child.send({ end, begins });
  const [points] = await once(child, "message");
  return Json.as(points);
}

/** The standby begins to serve, and another one is prepared. */
async function takeOver(end: End | null): Promise<void> {
  worker = await standby;
  await order(worker, end, true);
  standby = load();
}

async function load(): Promise<ChildProcess> {
  const address = office.address();
  const witness = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const given = { ingress: server.ingress, admin: server.admin, port, witness };
  const child = fork(join(import.meta.dirname, "fixtures/mortal-worker.ts"), [JSON.stringify(given)], {
    execArgv: ["--conditions=reeve-source"],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  alive.add(child);
  child.once("exit", () => alive.delete(child));
  await once(child, "message");
  return child;
}
