import type { BlockedExecution, Clock, Engine } from "#kernel";
import { callTree } from "#tree";

type BlockedPolicy = "hold" | "fail";

/** Options for runs that cannot execute. */
export interface SweepOptions {
  /**
   * The policy for a run that the engine or an operator has stopped for good. `hold`: it is paused, with the reason,
   * until it is cancelled or resumed. `fail`: it ends as failed. Default: hold.
   */
  readonly onBlocked?: BlockedPolicy;
  /** Seconds between two searches of a worker for such runs. Default: 60. */
  readonly sweepEveryS?: number;
}

interface SweepDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly policy: BlockedPolicy;
  readonly everyMs: number;
}

/** Maximum number of remembered executions, so that trees are not asked about the same one repeatedly. */
const maxKnown = 10_000;

/**
 * Finds runs that should execute but were stopped by the engine or an operator. Nothing else would detect them, because
 * only an execution reports to its tree.
 */
export class Sweep {
  readonly #deps: SweepDeps;
  readonly #known = new Set<string>();
  #disarm: (() => void) | null = null;

  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  static of(options: SweepOptions & { readonly engine: Engine }, clock: Clock): Sweep {
    const { engine, onBlocked: policy = "hold", sweepEveryS = 60 } = options;
    return new Sweep({ engine, clock, policy, everyMs: sweepEveryS * 1000 });
  }

  /** Sweeps periodically, until it is closed. */
  start(): void {
    const { clock, everyMs, engine } = this.#deps;
    if (!engine.findBlocked) return;
    const sweepAgain = (): void => {
      // A failed sweep loses nothing: the next one finds the same runs.
      void this.runOnce().catch(() => undefined);
      this.start();
    };
    this.#disarm = clock.callAt(clock.now() + everyMs, sweepAgain, { bestEffort: true });
  }

  /** Sweeps once. Returns the number of runs that were held or failed. */
  async runOnce(): Promise<number> {
    const blocked = (await this.#deps.engine.findBlocked?.()) ?? [];
    let count = 0;
    for (const each of blocked) {
      if (this.#known.has(each.execution)) continue;
      if (await this.#apply(each)) count += 1;
      this.#remember(each.execution);
    }
    return count;
  }

  close(): void {
    this.#disarm?.();
  }

  #apply({ tree, execution, blocker }: BlockedExecution): Promise<boolean> {
    const { engine, clock, policy } = this.#deps;
    const { kind, lastError } = blocker;
    const argument = { execution, kind, lastError, policy, at: clock.now() };
    return callTree((method, given) => engine.call(tree, method, given), "blocked", argument);
  }

  #remember(execution: string): void {
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(execution);
  }
}
