import { ReeveError } from "./errors.ts";

/** An answer of a model still does not match its schema after it was sent back. */
export class OutputError extends ReeveError {
  readonly code = "output";
  /** The beginning of the answer. */
  readonly answer: string;

  constructor(fields: { readonly message: string; readonly answer: string }) {
    super(fields.message);
    this.answer = fields.answer;
  }
}

/** An architecture has no answer: for example because no worker gave one. */
export class StrategyError extends ReeveError {
  readonly code = "strategy";
  readonly problem: string;

  constructor(fields: { readonly problem: string }) {
    super(fields.problem);
    this.problem = fields.problem;
  }
}
