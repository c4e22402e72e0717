import { ReeveError } from "./errors.ts";

/** A stored value does not have its expected shape: it was changed. It is not used at all. Never retried. */
export class StoredValueError extends ReeveError {
  readonly code = "stored-value";
  /** The kind of value, such as `the tree's state run`. */
  readonly what: string;
  /** The position in the value, and the problem. It holds no content. */
  readonly problem: string;

  constructor(fields: { readonly what: string; readonly problem: string }) {
    super(`${fields.what} was changed and is not used: ${fields.problem.trim()}`);
    this.what = fields.what;
    this.problem = fields.problem;
  }
}

/**
 * The store rejects a value, and would reject it again: a character, a size or a number that its columns cannot keep. Never
 * retried: the value is written in reduced form.
 */
export class StoreRejectionError extends ReeveError {
  readonly code = "store-rejected";
  /** The code of the database. */
  readonly reason: string;

  constructor({ reason, cause }: { readonly reason: string; readonly cause?: unknown }) {
    super(`the store rejects a value for good: ${reason}`, { cause });
    this.reason = reason;
  }

  static override is(error: unknown): error is StoreRejectionError {
    return ReeveError.is(error) && error.code === "store-rejected";
  }
}
