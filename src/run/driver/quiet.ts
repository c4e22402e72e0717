const ignore = (): void => undefined;

/**
 * Marks a promise as handled, so that its rejection does not end the process. Code that awaits it still gets the error.
 */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}
