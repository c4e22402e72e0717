import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRuntime, type RunHandle, type Runtime } from "reeve";
import { restate } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import { freePort } from "../../free-port.ts";
import { measureLostTime } from "../../lost-time.ts";
import { inLanes } from "../../engines/restate/scenarios/lanes.ts";
import { Crew } from "../stage/crew.ts";
import { openStage, type Stage } from "../stage/stage.ts";
import type { WorkerGiven } from "../stage/worker.ts";
import { agentsOf } from "../workload/agents.ts";
import { changedCode } from "../workload/own-agents.ts";
import { price } from "../workload/price.ts";

/** Trees of two runs each that lose their executions in one way. Every second one has a deadline, the others are cancelled. */
const treesOfEach = 8;
const deadlineS = 20;
/** A run that cannot execute ends so soon after its cancel or its deadline. */
const limitMs = 15_000;
/** Shorter than the default of 10 s: the rest of the limit is for a machine on which 24 trees at once take longer. */
const cancelGraceS = 4;
const namespace = "unexecutable";

interface Tree {
  readonly run: RunHandle;
  readonly session: string;
  readonly hasDeadline: boolean;
  readonly startedAt: number;
}

/**
 * Cancels trees whose runs cannot execute, or lets their deadlines pass: their invocations were killed at the engine,
 * their replays diverged, or their build has no worker. Every run must end, and leave no slot and no session.
 */
export async function unexecutable(): Promise<{ readonly line: string; readonly isRight: boolean }> {
  await using stage = await openStage({ seed: namespace, providerFaults: 0 });
  const { ingress, admin } = stage.restate;
  await using store = await postgresStore({ connectionString: stage.database });
  await using runtime = createRuntime({
    agents: Object.values(agents),
    store,
    cancelGraceS,
    engine: restate({ ingress, admin, namespace, log: () => {} }),
  });
  const began = performance.now();
  const trees = await strand(stage, runtime);
  await using _ = await openCrew(stage, { build: "tuesday", port: await freePort() });
  const late = await Promise.all(trees.map((tree) => endOf(runtime, tree)));
  const wrong = late.filter((what) => what !== null);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  const verdict = wrong.length === 0 ? "holds" : `BROKEN (${wrong.slice(0, 5).join("; ")})`;
  return {
    line: `runs that cannot execute: ${verdict}: ${2 * trees.length} runs of ${trees.length} trees, ${wrong.length} never ended or left something (${seconds} s)`,
    isRight: wrong.length === 0,
  };
}

/** Starts trees in three groups, and takes their executions away. */
async function strand(stage: Stage, runtime: Runtime): Promise<readonly Tree[]> {
  const at = { build: "monday", port: await freePort() };
  let killed: readonly Tree[] = [];
  let others: readonly Tree[] = [];
  {
    await using _ = await openCrew(stage, at);
    killed = await start(runtime, "killed");
    await killInvocations(stage);
    others = [...(await start(runtime, "diverged")), ...(await start(runtime, "unserved"))];
  }
  await using _ = await openCrew(stage, at, { [changedCode]: "yes" });
  const diverged = others.slice(0, treesOfEach).map(({ run }) => runtime.run(`${run.treeId}~1`));
  await inLanes(diverged, 4, async (child) => {
    await child.signal("go");
    await waitUntil(async () => (await child.blocker())?.kind === "diverged");
  });
  return [...killed, ...others];
}

async function start(runtime: Runtime, group: string): Promise<readonly Tree[]> {
  const { joiner } = agents;
  if (!joiner) throw new TypeError("no agent joiner");
  const numbers = Array.from({ length: treesOfEach }, (_, number) => number);
  return inLanes(numbers, 4, async (number): Promise<Tree> => {
    const session = `${group}-${number}`;
    const hasDeadline = number % 2 === 1;
    const startedAt = performance.now();
    const run = await runtime.start(joiner, "wait", {
      id: session,
      session,
      spawn: { maxAgents: 2 },
      ...(hasDeadline && { deadlineS }),
    });
    const child = runtime.run(`${run.treeId}~1`);
    await waitUntil(async () => (await waits(child)) && (await waits(run)));
    return { run, session, hasDeadline, startedAt };
  });
}

/** Whether a run has come to where it waits. One that does not exist yet has not. */
function waits(run: RunHandle): Promise<boolean> {
  return run.status().then(
    (status) => status !== "running" && status !== "pending",
    () => false,
  );
}

/** Ends a tree and returns the violation. Null: none. */
async function endOf(
  runtime: Runtime,
  { run, session, hasDeadline, startedAt }: Tree,
): Promise<string | null> {
  const from = hasDeadline ? Math.max(performance.now(), startedAt + deadlineS * 1_000) : performance.now();
  const lost = measureLostTime();
  const isLate = (): boolean => performance.now() - lost() > from + limitMs;
  // The answer may take longer than the engine waits: the request is kept nevertheless.
  if (!hasDeadline) void run.cancel("give up").catch(() => undefined);
  const isOver = async (): Promise<boolean> => (await run.status()) === "cancelled";
  while (!(await isOver())) {
    if (isLate()) return `${run.treeId} has not ended`;
    await delay(250);
  }
  const { tree } = await run.ledger();
  if (tree.liveAgents > 0) return `${run.treeId} has ${tree.liveAgents} live agents`;
  // Its turn is settled in the store first.
  while ((await runtime.turn(session)) !== null) {
    if (isLate()) return `${run.treeId} holds its session`;
    await delay(250);
  }
  return null;
}

async function killInvocations({ restate: { admin } }: Stage): Promise<void> {
  const query = `SELECT id FROM sys_invocation WHERE target_service_name = '${namespace}.run' AND status != 'completed'`;
  const answer = await fetch(new URL("/query", admin), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows }: { readonly rows: readonly { readonly id: string }[] } = JSON.parse(await answer.text());
  if (rows.length !== 2 * treesOfEach) throw new Error(`${rows.length} invocations of ${2 * treesOfEach}`);
  for (const { id } of rows) await fetch(new URL(`/invocations/${id}/kill`, admin), { method: "PATCH" });
}

async function openCrew(
  { folder: parent, restate: { ingress, admin }, double, sink, database }: Stage,
  at: Pick<WorkerGiven, "build" | "port">,
  env: Readonly<Record<string, string>> = {},
): Promise<Crew> {
  const folder = join(parent, `workers-${at.build}`);
  await mkdir(folder, { recursive: true });
  const given = {
    ...at,
    ingress,
    admin,
    namespace,
    double: double.baseURL,
    sink: sink.url,
    database,
    folder,
  };
  return Crew.open(given, { size: 1, env });
}

/** Waits until a condition holds. @throws after 30 seconds. */
async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  const latest = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > latest) throw new Error("a tree did not come to where it should be stranded");
    await delay(50);
  }
}

/** Their names and prices: their code runs elsewhere. */
const agents = agentsOf({
  model: (id) => ({ id, price, generate: () => Promise.reject(new Error("this is not a worker")) }),
  sink: "",
});
