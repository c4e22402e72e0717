import type { FailureLog } from "#kernel";

/** Returns a log that never throws: a broken log must not change how a run ends. */
export const quietly =
  (log: FailureLog | undefined): FailureLog =>
  (failure) => {
    try {
      log?.(failure);
    } catch {
      // Nothing else can take it.
    }
  };
