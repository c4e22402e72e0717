import { ReeveError } from "./errors.ts";

/** Too much waits to be read already. The same call may succeed once some of it has been read. */
export class BacklogFullError extends ReeveError {
  readonly code = "backlog-full";
  override readonly retryable = true;
  /** The inbox of a run, or a topic. */
  readonly what: string;
  readonly limit: number;
  readonly unit: "messages" | "characters";

  constructor(fields: Pick<BacklogFullError, "what" | "limit" | "unit">) {
    super(`${fields.what} is full: at most ${fields.limit} ${fields.unit} can wait to be read`);
    this.what = fields.what;
    this.limit = fields.limit;
    this.unit = fields.unit;
  }
}
