const ignore = (): void => undefined;

/** Whoever awaits it hears of a failure; whoever does not must not bring the process down. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}
