import type { RunId } from "#kernel";

/** Whether the tree takes a run for waiting, and for which runs. News that a wake-up brings do not change that. */
export class Rest {
  /** Null: it waits for something else than runs, too. */
  #on: ReadonlySet<RunId> | null = null;
  #isResting = false;

  get isResting(): boolean {
    return this.#isResting;
  }

  /** Whether the tree knows that the run waits for these, or for more. */
  covers(on: readonly RunId[] | null): boolean {
    const known = this.#on;
    return this.#isResting && (on && known ? on.every((run) => known.has(run)) : on === known);
  }

  begin(on: readonly RunId[] | null): void {
    this.#isResting = true;
    this.#on = on && new Set(on);
  }

  end(): void {
    this.#isResting = false;
  }
}
