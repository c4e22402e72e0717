import type { LogMetadata } from "@restatedev/restate-sdk";
import { RetryableError, TerminalError } from "@restatedev/restate-sdk";
import { wasDiagnosed } from "#base";
import { ReeveError, type RunId, type RunLaunch } from "#kernel";

/** What an operator should know. Ids and names only: no prompt, argument or result is ever in one. */
export interface LogRecord {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly run?: RunId;
  /** The key of its tree: the tenant (`-` for none), a slash, the tree's id. */
  readonly tree?: string;
  /** Restate's name of the execution or call. */
  readonly invocation?: string;
  /** The handler that Restate called. */
  readonly target?: string;
  readonly error?: LoggedError;
}

/** An error without what it may quote: its message is left out unless it is one of ours that holds ids and names only. */
export interface LoggedError {
  readonly name: string;
  readonly code?: string | number;
  readonly message?: string;
  /** Where it was thrown. */
  readonly stack: readonly string[];
}

/** Takes each record. Must not throw. */
export type Log = (record: LogRecord) => void;

/** To standard error: one JSON line each, or a line to read where a person sits. */
export const logToStderr: Log = (record) => {
  const time = new Date().toISOString();
  const { level, message, run, error } = record;
  const words = [time, level, message, run, error?.name, error?.message].filter((word) => word !== undefined);
  const line = process.stderr.isTTY ? words.join(" ") : JSON.stringify({ time, ...record });
  process.stderr.write(`${line}\n`);
};

/** Our errors whose messages hold nothing but ids, names and versions. */
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

/** What Restate is shown of an error that may carry content is a wrapper: the error itself is its cause. */
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
 * What Restate's SDK logs, as records: failures that Restate will retry. Not business errors, not routine. Its
 * messages quote what failed after a colon or on the next line; that part is left out.
 */
export function sdkLog(log: Log, launchOf: (invocation: string) => RunLaunch | null) {
  return (meta: LogMetadata, message?: unknown, ...details: readonly unknown[]): void => {
    const level: string = meta.level;
    const source: string = meta.source;
    const urgent = level === "error" || (level === "warn" && source === "JOURNAL");
    if (!urgent || details.some((detail) => isExpected(detail) || isReported(detail))) return;
    // An execution that was left behind may still ask for things: it is never answered.
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

/** Whether the runtime's own log has it, with its stack: the run crashed, and Restate starts it again. */
function isReported(detail: unknown): boolean {
  return wasDiagnosed(detail) || (detail instanceof Error && wasDiagnosed(detail.cause));
}
