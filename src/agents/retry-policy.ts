/** Counts restarts after crashes, separately for each id. It adds no delay. */
export class RetryPolicy {
  readonly maxRetries: number;
  readonly #counts = new Map<string, number>();

  constructor(options: { /** Default: 3. */ readonly maxRetries?: number } = {}) {
    this.maxRetries = options.maxRetries ?? 3;
  }

  /** Counts a retry. Returns whether retries are left. */
  shouldRetry(id: string): boolean {
    const count = this.#counts.get(id) ?? 0;
    if (count >= this.maxRetries) return false;
    this.#counts.set(id, count + 1);
    return true;
  }

  /** Resets the count after a success. */
  reset(id: string): void {
    this.#counts.delete(id);
  }
}
