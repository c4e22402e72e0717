/** A cooperative cancellation signal. Code that holds the token stops at its next safe point. */
export interface CancellationToken {
  readonly cancelled: boolean;
  /** The reason of the first cancel. Null while not cancelled. */
  readonly reason: string | null;
  /** An `AbortSignal` that aborts with a `CancellationError` when the token is cancelled. */
  readonly signal: AbortSignal;
  /** Cancels the token. Further calls change nothing. */
  cancel(reason: string): void;
  /** @throws CancellationError when cancelled. */
  check(): void;
  /** Resolves with the reason, once cancelled. */
  wait(): Promise<string>;
  /** Creates a token that is cancelled with this one, never the other way round. It starts cancelled if this one is. */
  child(): CancellationToken;
}
