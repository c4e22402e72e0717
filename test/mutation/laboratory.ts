import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Mutant } from "./mutants.ts";
import type { MeasuredTest, Order, Reply } from "./test-host.ts";

/** The outcome of one mutant. */
export interface Verdict {
  readonly id: string;
  readonly line: number;
  readonly was: string;
  readonly becomes: string;
  /** The first test that failed, or why there is none; null if the mutant survived. */
  readonly killer: string | null;
}

/** A mutant may take this much longer than its tests took without it. */
const slackMs = 30_000;
const measuringMs = 600_000;

/** Runs tests in a process of their own, which is replaced when it does not answer. */
export class Laboratory implements AsyncDisposable {
  #host: ChildProcess | null = null;

  /** Returns what each test takes and enters, and the tests that fail without a mutant. */
  async measure(
    files: readonly string[],
    source: readonly string[],
  ): Promise<Extract<Reply, { kind: "measured" }>> {
    const reply = await this.#ask({ kind: "measure", files, source }, measuringMs);
    await this[Symbol.asyncDispose]();
    if (reply?.kind !== "measured") throw new Error("the tests were not measured in time");
    return reply;
  }

  /** Tries a mutant with some tests. */
  async attempt(mutant: Mutant, tests: readonly MeasuredTest[]): Promise<Verdict> {
    const { id, line, was, becomes } = mutant;
    const verdict = { id, line, was, becomes };
    if (tests.length === 0) return { ...verdict, killer: null };
    const expectedMs = tests.reduce((sum, { ms }) => sum + ms, 0);
    const reply = await this.#ask(
      { kind: "try", mutant, tests: groupByFile(tests) },
      3 * expectedMs + slackMs,
    );
    if (reply?.kind === "tried") return { ...verdict, killer: reply.killer };
    await this[Symbol.asyncDispose]();
    return { ...verdict, killer: "no end in time" };
  }

  /** Null: no reply in time, or the process has ended. */
  async #ask(order: Order, timeoutMs: number): Promise<Reply | null> {
    const host = (this.#host ??= fork(join(import.meta.dirname, "test-host.ts"), {
      execArgv: ["--conditions=reeve-source"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    }));
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(Math.ceil(timeoutMs))]);
    host.send(order);
    try {
      const [reply]: readonly unknown[] = await Promise.race([
        once(host, "message", { signal }),
        once(host, "exit", { signal }).then((): unknown[] => [null]),
      ]);
      return isReply(reply) ? reply : null;
    } catch {
      return null;
    } finally {
      over.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const host = this.#host;
    this.#host = null;
    if (!host || host.exitCode !== null || host.signalCode !== null) return;
    host.kill("SIGKILL");
    await once(host, "exit");
  }
}

const isReply = (value: unknown): value is Reply =>
  typeof value === "object" && value !== null && "kind" in value;

/** Groups tests by file, in the order in which files come first. */
function groupByFile(tests: readonly MeasuredTest[]): readonly (readonly [string, string[]])[] {
  const files = new Map<string, string[]>();
  for (const { file, id } of tests) {
    const known = files.get(file);
    if (known) known.push(id);
    else files.set(file, [id]);
  }
  return [...files];
}
