import type { RunLaunch } from "#kernel";

interface OpenExecution {
  readonly launch: RunLaunch;
  /** Returns the execution to Restate once its running steps are journaled. */
  readonly leave: () => void;
}

/** The executions in this process's memory, by Restate's id. */
export class OpenExecutions {
  readonly #open = new Map<string, OpenExecution>();
  #started = 0;
  #ended = 0;
  #isLeaving = false;

  get open(): number {
    return this.#open.size;
  }

  get started(): number {
    return this.#started;
  }

  get ended(): number {
    return this.#ended;
  }

  /** Whether all executions are leaving this process. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  launchOf(invocation: string): RunLaunch | null {
    return this.#open.get(invocation)?.launch ?? null;
  }

  /** Registers an execution until its attempt has ended. */
  begin(invocation: string, execution: OpenExecution, attemptCompleted: AbortSignal): void {
    this.#started += 1;
    this.#open.set(invocation, execution);
    const close = (): void => {
      // A later attempt of the same execution may have begun.
      if (this.#open.get(invocation) === execution) this.#open.delete(invocation);
    };
    attemptCompleted.addEventListener("abort", close, { once: true });
    if (this.#isLeaving) execution.leave();
  }

  /** Counts an execution that has ended. */
  end(): void {
    this.#ended += 1;
  }

  /** Makes all executions leave: no further step starts here. */
  leave(): void {
    this.#isLeaving = true;
    for (const execution of this.#open.values()) execution.leave();
  }
}
