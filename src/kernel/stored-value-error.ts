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
