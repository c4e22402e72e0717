import type { Diagnostic } from "#kernel";
import { markDiagnosed } from "#base";

/** Reports an error of the program's own code to the log. Returns it for the event that tells of the failure. */
export type ReportFailure = (source: string, error: unknown) => Diagnostic;

/** Diagnostics of errors that come from the journal: their own stacks lead to the journal's reader. */
const recorded = new WeakMap<object, Diagnostic>();

/** Returns an error that was read from the journal, with the diagnostic that was recorded beside it. */
export function withDiagnostic(error: Error, diagnostic: Diagnostic | undefined): Error {
  if (!diagnostic) return error;
  recorded.set(error, diagnostic);
  markDiagnosed(error);
  return error;
}

/** Returns the diagnostic that was recorded beside an error of the journal. */
export function recordedDiagnostic(error: unknown): Diagnostic | undefined {
  return error instanceof Error ? recorded.get(error) : undefined;
}
