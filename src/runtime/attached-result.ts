import {
  Json,
  KeyDestroyedError,
  type Clock,
  type Engine,
  type ObjectAddress,
  type RunResult,
} from "#kernel";
import { withTimeout } from "#base";
import type { FinalResult } from "#tree";

/** Interval at which the tree is asked as well: an execution may have been stopped while its tree has ended the run. */
const askTreeMs = 30_000;

/** The state of an execution that has not ended yet. */
const pending = "pending";

/** The parts that a wait for an execution needs. */
interface AttachedDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly closed: AbortSignal;
  /** Asks the tree. Null while it has not ended. */
  readonly ask: () => Promise<RunResult | null>;
}

/**
 * The result of a tree, as returned by the execution of its root. It serves callers that wait while the tree is not
 * known to have ended. Later callers ask the tree, because content may have been erased since.
 */
export class AttachedResult {
  readonly #host: AttachedDeps;
  readonly #tree: ObjectAddress;
  readonly #execution: string;
  #waiting: Promise<RunResult | null> | null = null;
  #isOver = false;

  constructor(host: AttachedDeps, tree: ObjectAddress, execution: string) {
    this.#host = host;
    this.#tree = tree;
    this.#execution = execution;
  }

  /** Waits for the result. Null: the tree has to be asked. */
  wait(): Promise<RunResult | null> {
    if (this.#isOver) return Promise.resolve(null);
    return (this.#waiting ??= this.#wait().finally(() => {
      this.#isOver = true;
      this.#waiting = null;
    }));
  }

  async #wait(): Promise<RunResult | null> {
    for (;;) {
      const returned = await this.#attach();
      if (returned !== pending) return this.#tellable(returned);
      const result = await this.#host.ask();
      if (result) return result;
    }
  }

  #attach(): Promise<FinalResult | null | typeof pending> {
    const { engine, clock, closed } = this.#host;
    const onTimeout = (): typeof pending => pending;
    const limit = { clock, ms: askTreeMs, onTimeout, signal: closed };
    return withTimeout<FinalResult | null | typeof pending>(limit, async ({ signal }) =>
      Json.as<FinalResult | null>(
        (await engine.attach?.(this.#execution, { signal, tree: this.#tree }).catch(noneIfErased)) ?? null,
      ),
    );
  }

  #tellable(final: FinalResult | null): RunResult | null {
    return final && this.#host.clock.now() < (final.until ?? Infinity) ? final.result : null;
  }
}

/** Without its key, the result of an execution is unreadable. The tree still knows how it ended. */
function noneIfErased(error: unknown): null {
  if (error instanceof KeyDestroyedError) return null;
  throw error;
}
