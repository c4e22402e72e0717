/** Returns the message of an error, or the text of a thrown value that is not an error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns an error unchanged. Any other thrown value becomes the message of a new error. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
