import { hideSecrets, type Diagnostic } from "#kernel";
import { errorMessage } from "./error-message.ts";

/** Maximum characters of an error's message for a model, a log or an event. */
const maxMessage = 2_000;
const maxFrames = 10;
const maxFrame = 300;

/** The path of this package's own files. Its test files count as a program's. */
const own = new URL("..", import.meta.url).pathname;

/** Returns the message of an error, bounded and without secrets. */
export function safeMessage(error: unknown): string {
  const message = hideSecrets(errorMessage(error));
  const rest = message.length - maxMessage;
  return rest <= 0 ? message : `${message.slice(0, maxMessage)} [${rest} more characters left out]`;
}

/**
 * Returns the diagnostic of an error, for the author of the code that threw it. Never throws, even if reading the error
 * does.
 */
export function diagnose(source: string, error: unknown): Diagnostic {
  if (error instanceof Error) diagnosed.add(error);
  try {
    const name = error instanceof Error ? error.name : typeof error;
    return { source, name, message: safeMessage(error), frames: framesOf(error) };
  } catch {
    return { source, name: "unreadable", message: "an error that cannot be read", frames: [] };
  }
}

const diagnosed = new WeakSet<object>();

/** Records that an error was already reported to its author. */
export const markDiagnosed = (error: Error): void => void diagnosed.add(error);

/** Whether an error was reported to its author. An engine that retries after it need not log it again. */
export const wasDiagnosed = (error: unknown): boolean => error instanceof Error && diagnosed.has(error);

/** Returns the stack frames of the program's code. If there are none, the innermost ones. */
function framesOf(error: unknown): readonly string[] {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const frames = stack.split("\n").flatMap((line) => /^ +at (.*)/.exec(line)?.[1]?.slice(0, maxFrame) ?? []);
  const theirs = frames.filter((frame) => !isOurs(frame));
  return (theirs.length > 0 ? theirs : frames).slice(0, maxFrames);
}

function isOurs(frame: string): boolean {
  if (/node_modules|node:|<anonymous>/.test(frame)) return true;
  return frame.includes(own) && !frame.includes(`${own}testing/`);
}

/** Returns a diagnostic as lines of text. */
export function diagnosticText({ source, name, message, frames }: Diagnostic): string {
  return [`${source} threw ${name}: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
}
