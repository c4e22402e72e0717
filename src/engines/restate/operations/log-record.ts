import type { LogMetadata } from "@restatedev/restate-sdk";
import { RetryableError, TerminalError } from "@restatedev/restate-sdk";
import { wasDiagnosed } from "#base";
import { ReeveError, type RunId, type RunLaunch } from "#kernel";

/** A log record for operators. It holds ids and names only: never a prompt, argument or result. */
export interface LogRecord {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly run?: RunId;
  /** The key of its tree: the tenant (`-` for none), a slash, the tree's id. */
  readonly tree?: string;
  /** Restate's id of the execution or call. */
  readonly invocation?: string;
  /** The handler that Restate called. */
  readonly target?: string;
  readonly error?: LoggedError;
}

/** An error without content: its message is left out unless it is one of ours that holds ids and names only. */
export interface LoggedError {
  readonly name: string;
  readonly code?: string | number;
  readonly message?: string;
  /** The stack frames. */
  readonly stack: readonly string[];
}

/** Receives each record. Must not throw. */
export type Log = (record: LogRecord) => void;

/** Writes to standard error: one JSON line per record, or a readable line on a terminal. */
export const logToStderr: Log = (record) => {
  const time = new Date().toISOString();
  const { level, message, run, error } = record;
  const words = [time, level, message, run, error?.name, error?.message].filter((word) => word !== undefined);
  const line = process.stderr.isTTY ? words.join(" ") : JSON.stringify({ time, ...record });
  process.stderr.write(`${line}\n`);
};

/** Our errors whose messages hold only ids, names and versions. */
const speakable: ReadonlySet<string> = new Set([
  "incompatible-version",
  "replay-divergence",
  "unjournaled-await",
  "nested-step",
  "not-found",
  "seal-broken",
  "key-destroyed",
  "too-large",
]);

/**
 * Returns the loggable form of an error. Restate gets only a wrapper of an error that may hold content: the error
 * itself is its cause.
 */
function loggedError(given: unknown): LoggedError {
  const error: unknown = given instanceof Error && given.cause instanceof Error ? given.cause : given;
  if (!(error instanceof Error)) return { name: typeof error, stack: [] };
  const code = "code" in error ? error.code : undefined;
  const isSpeakable = ReeveError.is(error) && speakable.has(error.code);
  return {
    name: error.constructor.name,
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(isSpeakable && { message: error.message }),
    stack: (error.stack ?? "").split("\n").flatMap((line) => /^ +at (.*)/.exec(line)?.[1] ?? []),
  };
}

/**
 * Converts log entries of Restate's SDK to records: failures that Restate will retry. Business errors and routine
 * entries are left out. SDK messages quote the failure after a colon or on the next line; that part is left out.
 */
export function sdkLog(log: Log, launchOf: (invocation: string) => RunLaunch | null) {
  return (meta: LogMetadata, message?: unknown, ...details: readonly unknown[]): void => {
    const level: string = meta.level;
    const source: string = meta.source;
    const urgent = level === "error" || (level === "warn" && source === "JOURNAL");
    if (!urgent || details.some((detail) => isExpected(detail) || isReported(detail))) return;
    // A discarded execution may still make requests: they are never answered.
    if (String(message).startsWith("DANGER!")) return;
    const { invocationId, invocationTarget } = meta.context ?? {};
    const launch = invocationId === undefined ? null : launchOf(invocationId);
    const error = details.find((detail) => detail instanceof Error);
    log({
      level: level === "error" ? "error" : "warn",
      message: /^[^:\n]*/.exec(String(message).trim())?.[0] ?? "",
      ...(launch && { run: launch.runId, tree: launch.tree.key }),
      ...(invocationId !== undefined && { invocation: invocationId }),
      ...(invocationTarget !== undefined && { target: invocationTarget }),
      ...(error && { error: loggedError(error) }),
    });
  };
}

function isExpected(detail: unknown): boolean {
  return detail instanceof TerminalError || detail instanceof RetryableError;
}

/** Whether the runtime's own log already has the error, with its stack: the run crashed, and Restate restarts it. */
function isReported(detail: unknown): boolean {
  return wasDiagnosed(detail) || (detail instanceof Error && wasDiagnosed(detail.cause));
}
