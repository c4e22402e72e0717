/** Decides, for tests, after which picks an execution is thrown away: each one that it has not been through before. */
export class ReplayFuzz {
  readonly #known = new Map<string, number>();

  /** Whether this is the first attempt of the execution to get as far as its `pick`-th pick. */
  isNew(execution: string, pick: number): boolean {
    if (pick <= (this.#known.get(execution) ?? 0)) return false;
    this.#known.set(execution, pick);
    return true;
  }

  ended(execution: string): void {
    this.#known.delete(execution);
  }
}
