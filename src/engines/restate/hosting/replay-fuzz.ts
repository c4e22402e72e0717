/** Decides, for tests, after which picks an execution is discarded: each one that it has not passed before. */
export class ReplayFuzz {
  readonly #known = new Map<string, number>();

  /** Whether this is the first attempt of the execution to reach its `pick`-th pick. */
  isNew(execution: string, pick: number): boolean {
    if (pick <= (this.#known.get(execution) ?? 0)) return false;
    this.#known.set(execution, pick);
    return true;
  }

  forget(execution: string): void {
    this.#known.delete(execution);
  }
}
