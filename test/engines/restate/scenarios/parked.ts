import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Runtime, createRuntime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { staffOf } from "../fixtures/staff.ts";
import { inLanes } from "./lanes.ts";
import { freePort } from "../../../free-port.ts";
import { type Memory, WorkerProcess } from "./worker-process.ts";

const lanes = 50;
const inactivityTimeoutMs = 1_000;
const waitMs = 60_000;
const { parked } = staffOf();

/** The result of parking this many runs. */
export interface ParkedFigures {
  /** The worker's memory before the first run. */
  readonly idle: Memory;
  /** And when all were parked. */
  readonly parked: Memory;
  /** Milliseconds from the first start until no execution was left in the worker. */
  readonly parkedMs: number;
  /** Milliseconds from the end of the restarts until the last run had ended. */
  readonly resumedMs: number;
  readonly completed: number;
}

/** Parks runs on a signal, kills worker and server, starts both again, signals all and waits for all. */
export async function parkRuns(count: number): Promise<ParkedFigures> {
  const baseDir = await mkdtemp(join(tmpdir(), "reeve-parked-"));
  try {
    await using server = await restateServer({ baseDir });
    return await parkOn(server, count);
  } finally {
    await rm(baseDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function parkOn(server: RestateServer, count: number): Promise<ParkedFigures> {
  const port = await freePort();
  const ids = Array.from({ length: count }, (_, index) => `parked-${index}`);
  const startWorker = (): Promise<WorkerProcess> =>
    WorkerProcess.start(server, { port, inactivityTimeoutMs });
  const held = await (async () => {
    await using worker = await startWorker();
    const idle = await worker.memory();
    const began = performance.now();
    await asClient(server, (runtime) => inLanes(ids, lanes, (id) => runtime.start(parked, "wait", { id })));
    const memory = await untilNothingRuns(worker);
    return { idle, parked: memory, parkedMs: performance.now() - began };
  })();
  await server.kill();
  await server.restart();
  await using _ = await startWorker();
  const began = performance.now();
  const outputs = await asClient(server, (runtime) => inLanes(ids, lanes, (id) => resume(runtime, id)));
  const completed = outputs.filter((output, index) => output === ids[index]).length;
  return { ...held, resumedMs: performance.now() - began, completed };
}

/** A client that has only the address: the server has everything else. */
async function asClient<Result>(
  { ingress, admin }: RestateServer,
  work: (runtime: Runtime) => Promise<Result>,
): Promise<Result> {
  await using runtime = createRuntime({ agents: [parked], engine: restate({ ingress, admin }) });
  return await work(runtime);
}

async function resume(runtime: Runtime, id: string): Promise<unknown> {
  const run = runtime.run(id);
  await run.signal("go", id);
  return (await run.result()).output;
}

async function untilNothingRuns(worker: WorkerProcess): Promise<Memory> {
  const end = performance.now() + waitMs;
  for (;;) {
    const memory = await worker.memory();
    if (memory.executions === 0 || performance.now() > end) return memory;
  }
}
