/** An error for the author of the code that threw it. It may hold content: it is sealed and erased like content. */
export interface Diagnostic {
  /** The code that threw: `tool search`, `agent lead`, `guardrail filter`, `middleware 2`. */
  readonly source: string;
  /** The class of the error. */
  readonly name: string;
  /** At most 2,000 characters, without secrets. */
  readonly message: string;
  /** The calls that led there, innermost first: function, file, line and column. */
  readonly frames: readonly string[];
}

/** A failure of the program's own code, or of the store, as the log of a runtime gets it. */
export interface FailureRecord {
  readonly tree: string;
  /** Null: the failure is not a run's. What happened in the tree cannot be written to the store, or a schedule not start. */
  readonly run: string | null;
  /** Null, as `run`. */
  readonly agent: string | null;
  readonly diagnostic: Diagnostic;
}

/** Takes each failure of the program's own code, and at most one of the store in a minute. */
export type FailureLog = (failure: FailureRecord) => void;
