import type { Diagnostic } from "#kernel";
import { markDiagnosed } from "#base";

/** Reports an error of the program's own code to the log. Returns its diagnostic for the event. */
export type ReportFailure = (source: string, error: unknown) => Diagnostic;

/** Diagnostics of errors that were read from the journal. Their own stacks point to the journal's reader. */
const recorded = new WeakMap<object, Diagnostic>();

/** Attaches the recorded diagnostic to an error that was read from the journal, and returns the error. */
export function withDiagnostic(error: Error, diagnostic: Diagnostic | undefined): Error {
  if (!diagnostic) return error;
  recorded.set(error, diagnostic);
  markDiagnosed(error);
  return error;
}

/** Returns the recorded diagnostic of an error from the journal. */
export function recordedDiagnostic(error: unknown): Diagnostic | undefined {
  return error instanceof Error ? recorded.get(error) : undefined;
}
