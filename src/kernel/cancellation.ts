/** A stop button. Cooperative: it tells, and those who are told stop at their next safe point. */
export interface CancellationToken {
  readonly cancelled: boolean;
  /** Why; null while not cancelled. The first reason wins. */
  readonly reason: string | null;
  /** The same button for platform code: aborts with a `CancellationError`. */
  readonly signal: AbortSignal;
  /** Presses it. Pressing twice changes nothing. */
  cancel(reason: string): void;
  /** @throws CancellationError when cancelled. */
  check(): void;
  /** Resolves with the reason, once cancelled. */
  wait(): Promise<string>;
  /** A token that is cancelled with this one, never the other way round; born cancelled if this one is. */
  child(): CancellationToken;
}
