import type { BlockedExecution, Clock, Engine } from "#kernel";
import { callTree } from "#tree";

type BlockedPolicy = "hold" | "fail";

/** How runs are treated that cannot execute. */
export interface SweepOptions {
  /**
   * The policy for a run that the engine or an operator has stopped for good. `hold`: it is paused, with the reason, until
   * it is cancelled or resumed. `fail`: it ends failed. Default hold.
   */
  readonly onBlocked?: BlockedPolicy;
  /** How often a worker looks for such runs. Default 60. */
  readonly sweepEveryS?: number;
}

interface SweepDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly policy: BlockedPolicy;
  readonly everyMs: number;
}

/** Executions that are remembered, so that trees are not asked about the same one again and again. */
const maxKnown = 10_000;

/**
 * Finds runs that are silent although they should execute: the engine has stopped them, or an operator has. Nobody else
 * would notice, because only an execution tells its tree how it goes.
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

  /** Sweeps now and then, until it is closed. */
  start(): void {
    const { clock, everyMs, engine } = this.#deps;
    if (!engine.findBlocked) return;
    const next = (): void => {
      // A failed sweep loses nothing: the next one finds the same runs.
      void this.once().catch(() => undefined);
      this.start();
    };
    this.#disarm = clock.callAt(clock.now() + everyMs, next, { bestEffort: true });
  }

  /** Returns how many runs were held or failed. */
  async once(): Promise<number> {
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
    const { kind, words } = blocker;
    const argument = { execution, kind, words, policy, at: clock.now() };
    return callTree((method, given) => engine.call(tree, method, given), "blocked", argument);
  }

  #remember(execution: string): void {
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(execution);
  }
}
