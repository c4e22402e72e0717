/** Returns the message of an error, or the text of a thrown value that is no error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns an error as it is, and any other thrown value as the message of a new error. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
