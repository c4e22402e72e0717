import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { WorkerGiven } from "./worker.ts";

const script = join(import.meta.dirname, "worker.ts");
/** Caches compiled code: a worker loads in a third of the time, nearly as fast as a built one. */
const compiled = join(import.meta.dirname, "../../../node_modules/.cache/reeve/compiled");
/** Inserts a bug into their code if requested. */
const plant = join(import.meta.dirname, "../planted/plant.ts");
const spares = 2;

/** Number and settings of the workers. */
interface CrewOptions {
  readonly size: number;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The workers of a campaign: several processes on one port. One that ends is replaced at once by a standby with its
 * code loaded.
 */
export class Crew implements AsyncDisposable {
  readonly #given: WorkerGiven;
  readonly #env: Readonly<Record<string, string>>;
  readonly #size: number;
  readonly #alive = new Set<ChildProcess>();
  readonly #serving: ChildProcess[] = [];
  readonly #frozen = new Set<ChildProcess>();
  readonly #standby: Promise<ChildProcess>[] = [];
  #isOver = false;

  private constructor(given: WorkerGiven, { size, env }: CrewOptions) {
    this.#given = given;
    this.#env = env;
    this.#size = size;
  }

  static async open(given: WorkerGiven, options: CrewOptions): Promise<Crew> {
    const crew = new Crew(given, options);
    for (let n = 0; n < spares; n++) crew.#standby.push(crew.#load());
    await Promise.all(Array.from({ length: options.size }, () => crew.#spawn()));
    return crew;
  }

  /**
   * Kills the `n`-th serving worker. Returns its process id. Null, without effect, while an ended one is not replaced
   * yet.
   */
  async kill(n: number): Promise<number | null> {
    const worker = this.#pick(n);
    if (!worker) return null;
    const ended = once(worker, "exit");
    worker.kill("SIGKILL");
    await ended;
    return worker.pid ?? null;
  }

  /** Stops the `n`-th for so long, without its knowing; null as above. */
  async freeze(n: number, ms: number): Promise<number | null> {
    const worker = this.#pick(n);
    if (!worker) return null;
    this.#frozen.add(worker);
    worker.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, ms));
    worker.kill("SIGCONT");
    this.#frozen.delete(worker);
    return worker.pid ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const alive = [...this.#alive];
    const ended = alive.map((worker) => once(worker, "exit"));
    for (const worker of alive) worker.kill("SIGKILL");
    await Promise.all(ended);
  }

  #pick(n: number): ChildProcess | undefined {
    const free = this.#serving.filter((worker) => !this.#frozen.has(worker));
    const isWhole = this.#serving.length >= this.#size && free.length > 1;
    return isWhole ? free[n % free.length] : undefined;
  }

  /** Tries until one serves: the database may be down when it begins. */
  async #spawn(): Promise<void> {
    while (!this.#isOver) {
      this.#standby.push(this.#load());
      const worker = await this.#standby.shift();
      if (!worker || this.#isOver) return;
      if (!worker.connected) continue;
      const serving = once(worker, "message").then(() => true);
      const ended = once(worker, "exit").then(() => false);
      // If it has ended by now, this is noticed below.
      worker.send("serve", () => {});
      if (!(await Promise.race([serving, ended]))) continue;
      this.#serving.push(worker);
      worker.once("exit", () => {
        this.#serving.splice(this.#serving.indexOf(worker), 1);
        void this.#spawn();
      });
      return;
    }
  }

  async #load(): Promise<ChildProcess> {
    const out = openSync(join(this.#given.folder, "output.log"), "a");
    const worker = fork(script, [JSON.stringify(this.#given)], {
      execArgv: ["--conditions=reeve-source", "--import", plant],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled, ...this.#env },
      stdio: ["ignore", out, out, "ipc"],
    });
    closeSync(out);
    this.#alive.add(worker);
    worker.once("exit", () => this.#alive.delete(worker));
    await Promise.race([once(worker, "message"), once(worker, "exit")]);
    return worker;
  }
}
