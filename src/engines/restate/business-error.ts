import { RestateError, TerminalError } from "@restatedev/restate-sdk";
import {
  type ErrorData,
  ForeignError,
  type ReeveError,
  decodeError,
  encodeError,
  isJsonObject,
} from "#kernel";

const businessStatus = 422;

/**
 * How an error of ours travels through Restate: a failure that is never retried, with the error as JSON in its
 * message, because the message is the only field that both callers and the ingress are shown.
 */
export const BusinessError = {
  toTerminal: (error: unknown): TerminalError =>
    new TerminalError(JSON.stringify(encodeError(error)), { errorCode: businessStatus }),

  /** What the message of a failure says. One that is not ours (killed, no such handler) is a foreign error. */
  data: (message: string): ErrorData =>
    ours(message) ?? new ForeignError({ message, kind: "restate" }).toJSON(),

  /** The error that was thrown at the other end, or null if the failure is not ours. */
  decode: (message: string): ReeveError | null => {
    const data = ours(message);
    return data && decodeError(data);
  },
} as const;

/** Throws what Restate simply retries: its own errors would mean something to it. */
export function retry(error: unknown): never {
  throw error instanceof RestateError ? new Error(error.message, { cause: error }) : error;
}

function ours(message: string): ErrorData | null {
  if (!message.startsWith("{")) return null;
  try {
    const data: unknown = JSON.parse(message);
    return isJsonObject(data) && typeof data["code"] === "string" ? (data as unknown as ErrorData) : null;
  } catch {
    return null;
  }
}
