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

/** A failure of the program's own code, as the log of a runtime gets it. */
export interface FailureRecord {
  readonly tree: string;
  readonly run: string;
  readonly agent: string;
  readonly diagnostic: Diagnostic;
}

/** Takes each failure of the program's own code. */
export type FailureLog = (failure: FailureRecord) => void;
