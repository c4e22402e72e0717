import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly process: ChildProcess;
  /** Address of its probes, as printed when it was ready. */
  readonly probes: string;
  /** Returns its output so far. */
  readonly readOutput: () => string;
  /** The exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>;
}

const alive = new Set<ChildProcess>();

/** Starts a fixture, by its name or its whole path, and waits until it serves: it prints where its probes are. */
export async function startWorker(fixture: string, given: readonly string[]): Promise<WorkerProcess> {
  const script = resolve(import.meta.dirname, "fixtures", fixture);
  const worker = spawn(process.execPath, ["--conditions=reeve-source", script, ...given], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  alive.add(worker);
  const exit = once(worker, "exit").then(([code, signal]): number | string => {
    alive.delete(worker);
    return typeof code === "number" ? code : String(signal);
  });
  let said = "";
  worker.stdout.on("data", (chunk) => (said += String(chunk)));
  const probes = (): string | undefined => /^http:\S+$/m.exec(said)?.[0];
  const served = eventually(() => probes() !== undefined);
  await Promise.race([
    served,
    exit.then((code) => Promise.reject(new Error(`the worker ended with ${code}`))),
  ]);
  return { process: worker, probes: probes() ?? "", readOutput: () => said, exit };
}

/** Ends every worker that is still there, without asking. */
export async function killWorkers(): Promise<void> {
  const ended = [...alive].map((worker) => once(worker, "exit"));
  for (const worker of alive) worker.kill("SIGKILL");
  await Promise.all(ended);
}

/** Returns one of the worker's metrics. */
export async function figure({ probes }: WorkerProcess, name: string): Promise<number> {
  const text = await (await fetch(`${probes}/metrics`)).text();
  return Number(new RegExp(`^reeve_${name} (.*)$`, "m").exec(text)?.[1]);
}

/** Polls until the condition holds. The limit is that of the test. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(5);
}
