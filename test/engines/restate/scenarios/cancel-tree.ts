import { type CancelReceipt } from "#kernel";
import { createRuntime } from "reeve";
import { type RestateServer, restate } from "reeve/engines/restate";
import { staffOf } from "../fixtures/staff.ts";
import { Office } from "./office.ts";
import { freePort } from "../../../free-port.ts";
import { measureLostTime } from "../../../lost-time.ts";
import { WorkerProcess } from "./worker-process.ts";

/** The outcome of the cancelled tree. */
export interface CancelledTree {
  readonly receipt: CancelReceipt;
  /** Milliseconds from the cancel until the last run had ended. */
  readonly tookMs: number;
  /** The part of that time that the machine lost. */
  readonly lostMs: number;
  /** Number of its runs in each worker. */
  readonly heldBy: readonly number[];
}

/**
 * Cancels a tree of 1 + 3 + 9 whose runs are all inside a step. A second worker starts, at its own address, before the
 * nine are spawned: later runs start there.
 */
export async function cancelTree(server: RestateServer): Promise<CancelledTree> {
  await using office = await Office.open();
  const { lead, researcher, writer } = staffOf();
  await using runtime = createRuntime({ agents: [lead, researcher, writer], engine: restate(server) });
  const startWorker = async (): Promise<WorkerProcess> =>
    WorkerProcess.start(server, { port: await freePort(), office: office.url });
  await using first = await startWorker();
  const run = await runtime.start(lead, "go");
  const researchers = await office.count("researcher", 3);
  await using second = await startWorker();
  for (const { answer } of researchers) answer("hire");
  const working = [
    ...(await office.count("lead at work", 1)),
    ...(await office.count("researcher at work", 3)),
    ...(await office.count("writer", 9)),
  ];
  const began = performance.now();
  const lost = measureLostTime();
  const receipt = await run.cancel("enough");
  const tookMs = performance.now() - began;
  const lostMs = lost();
  const heldBy = [first, second].map((worker) => working.filter(({ pid }) => pid === worker.pid).length);
  return { receipt, tookMs, lostMs, heldBy };
}
