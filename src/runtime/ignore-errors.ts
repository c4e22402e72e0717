import { NotFoundError, type FailureLog } from "#kernel";

/** Returns a log that never throws: a broken log must not change the end of a run. */
export const ignoreErrors =
  (log: FailureLog | undefined): FailureLog =>
  (failure) => {
    try {
      log?.(failure);
    } catch {
      // No other receiver exists.
    }
  };

/** Returns undefined for what does not exist. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
