/** The only source of time. Milliseconds since 1970. */
export interface Clock {
  now(): number;
  /** Resolves once `now() >= at`; rejects with the signal's reason when aborted. */
  waitUntil(at: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `act` once `now() >= at`, never synchronously. Returns a function that cancels the call. A `bestEffort` timer
   * does not keep the process alive.
   */
  callAt(at: number, act: () => void, options?: { readonly bestEffort?: boolean }): () => void;
}
