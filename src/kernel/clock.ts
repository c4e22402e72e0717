/** The only source of time. Milliseconds since 1970. */
export interface Clock {
  now(): number;
  /** Resolves once `now() >= at`; rejects with the signal's reason when aborted. */
  waitUntil(at: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls back once `now() >= at`, unless the returned function was called before. Never at once. A process need not live
   * on for what `bestEffort`.
   */
  callAt(at: number, act: () => void, options?: { readonly bestEffort?: boolean }): () => void;
}
