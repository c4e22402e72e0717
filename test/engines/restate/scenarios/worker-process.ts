import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Json } from "reeve";
import type { RestateOptions } from "reeve/engines/restate";

const script = join(import.meta.dirname, "../fixtures/staff-worker.ts");

/** The memory of a worker after a full collection. */
export interface Memory {
  /** Executions that are still referenced. */
  readonly executions: number;
  readonly heapBytes: number;
}

/** Options of a worker. */
export interface WorkerOptions {
  /** Port on which it serves. */
  readonly port: number;
  /** Address for reports of its agents. Default: none. */
  readonly office?: string;
  readonly inactivityTimeoutMs?: number;
}

/** A worker in a process of its own, to be looked into and to be killed. */
export class WorkerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Returns once it serves. */
  static async start(
    { ingress, admin }: Pick<RestateOptions, "ingress" | "admin">,
    options: WorkerOptions,
  ): Promise<WorkerProcess> {
    const given = JSON.stringify({ ingress, admin, ...options });
    const execArgv = ["--conditions=reeve-source", "--expose-gc"];
    const worker = new WorkerProcess(fork(script, [given], { execArgv }));
    await worker.#message();
    return worker;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  async memory(): Promise<Memory> {
    this.#child.send("memory");
    return Json.as(await this.#message());
  }

  /** Ends it without asking. Returns when it has. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #message(): Promise<Json> {
    const gone = new AbortController();
    const fail = (): void => gone.abort(new Error("the worker ended"));
    this.#child.once("exit", fail);
    try {
      const [message] = await once(this.#child, "message", { signal: gone.signal });
      return Json.of(message);
    } finally {
      this.#child.off("exit", fail);
    }
  }
}
