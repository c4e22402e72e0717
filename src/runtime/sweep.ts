import { RuntimeClosedError, type BlockedExecution, type Clock, type Engine } from "#kernel";
import { withTimeout } from "#base";
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
/** Maximum number of trees that are asked at the same time. */
const maxAtOnce = 8;
/** Milliseconds for one answer, of the engine or of a tree. */
const answerMs = 10_000;

/**
 * Finds runs that should execute but were stopped by the engine or an operator. Nothing else would detect them, because
 * only an execution reports to its tree.
 */
export class Sweep {
  readonly #deps: SweepDeps;
  readonly #known = new Set<string>();
  readonly #closed = new AbortController();
  #disarm: (() => void) | null = null;
  /** Resolves when the last round has ended. */
  #last: Promise<unknown> = Promise.resolve();

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
    const sweepAgain = async (): Promise<void> => {
      // A failed round loses nothing: the next one finds the same runs.
      await this.runOnce().catch(() => undefined);
      if (!this.#closed.signal.aborted) this.start();
    };
    this.#disarm = clock.callAt(clock.now() + everyMs, () => void sweepAgain(), { bestEffort: true });
  }

  /**
   * Sweeps once, after the round that is under way. Returns the number of runs that were held or failed. @throws
   * AggregateError if trees did not answer, after all others were asked; RuntimeClosedError.
   */
  runOnce(): Promise<number> {
    const round = this.#last.then(() => this.#sweep());
    this.#last = round.catch(() => undefined);
    return round;
  }

  close(): void {
    this.#disarm?.();
    this.#closed.abort(new RuntimeClosedError());
  }

  async #sweep(): Promise<number> {
    const { engine } = this.#deps;
    const blocked = await this.#limit("the engine", async () => (await engine.findBlocked?.()) ?? []);
    const unknown = blocked.filter(({ execution }) => !this.#known.has(execution));
    const left = unknown.values();
    const errors: unknown[] = [];
    let count = 0;
    const askInTurn = async (): Promise<void> => {
      for (const each of left) {
        try {
          if (await this.#limit(`the tree ${each.tree.key}`, () => this.#apply(each))) count += 1;
          this.#remember(each.execution);
        } catch (error) {
          errors.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: maxAtOnce }, askInTurn));
    this.#closed.signal.throwIfAborted();
    if (errors.length > 0)
      throw new AggregateError(
        errors,
        `${errors.length} of ${unknown.length} trees with a stopped run failed`,
      );
    return count;
  }

  #limit<T>(who: string, ask: () => Promise<T>): Promise<T> {
    const onTimeout = (): never => {
      throw new Error(`${who} has not answered the sweep within ${answerMs} ms`);
    };
    const { signal } = this.#closed;
    return withTimeout({ clock: this.#deps.clock, ms: answerMs, onTimeout, signal }, ask);
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
