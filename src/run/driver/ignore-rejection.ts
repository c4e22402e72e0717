const ignoreError = (): void => undefined;

/**
 * Marks a promise as handled, so that its rejection does not end the process. Code that awaits it still gets the error.
 */
export function ignoreRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignoreError);
  return promise;
}
