import { ReeveError } from "./errors.ts";

/** A stored value does not have the shape that its writer gives it: it was changed. Nothing of it is used. Never retried. */
export class StoredValueError extends ReeveError {
  readonly code = "stored-value";
  /** The kind of value, such as `the tree's state run`. */
  readonly what: string;
  /** The place in the value, and the problem. It tells no content. */
  readonly problem: string;

  constructor(fields: { readonly what: string; readonly problem: string }) {
    super(`${fields.what} was changed and is not used: ${fields.problem.trim()}`);
    this.what = fields.what;
    this.problem = fields.problem;
  }
}
