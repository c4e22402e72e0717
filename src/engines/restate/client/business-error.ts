import { TerminalError } from "@restatedev/restate-sdk";
import {
  type ErrorData,
  ForeignError,
  KeyDestroyedError,
  Json,
  ReeveError,
  SealBrokenError,
  decodeError,
  encodeError,
  isJsonObject,
  type Seal,
} from "#kernel";
import { openJson, sealJson } from "../sealing/sealed-serde.ts";

const businessStatus = 422;
const mark = "sealed:";
const withoutContent: ReadonlySet<string> = new Set([
  "incompatible-version",
  "replay-divergence",
  "key-destroyed",
  "seal-broken",
  "too-large",
  "superseded",
]);

/** The errors that {@link BusinessError.ofSealing} creates. No others are accepted without a seal. */
const unsealed: ReadonlySet<unknown> = new Set(["seal-broken", "key-destroyed"]);

/**
 * The encoding of our errors in Restate: a terminal failure with the sealed error in its message. The message is the
 * only field that both callers and the ingress get.
 */
export const BusinessError = {
  toTerminal: (error: unknown, seal: Seal): TerminalError =>
    terminal(mark + Buffer.from(sealJson(seal, Json.of(encodeError(error)))).toString("base64")),

  /**
   * Returns the error for a call that cannot be opened. It is not sealed, and holds no content. Null for one that
   * another release can open: it waits.
   */
  ofSealing: (error: unknown): TerminalError | null => {
    if (error instanceof SealBrokenError && error.reason === "older-format") return null;
    const isOurs = error instanceof SealBrokenError || error instanceof KeyDestroyedError;
    return isOurs ? terminal(JSON.stringify(error)) : null;
  },

  /**
   * Returns the error in the message of a failure. A failure that is not ours (killed, no such handler) is a foreign
   * error.
   */
  data: (message: string, seal: Seal): ErrorData =>
    decodeOwnError(message, seal) ?? new ForeignError({ message, kind: "restate" }).toJSON(),

  /** Returns the error of a failed call. @throws errors that are not terminal: Restate retries those. */
  ofCall: (error: unknown, seal: Seal): ReeveError => {
    if (!(error instanceof TerminalError)) throw error;
    return decodeError(BusinessError.data(error.message, seal));
  },

  /** Returns the error that was thrown at the other end. Null if the failure is not ours. */
  decode: (message: string, seal: Seal): ReeveError | null => {
    const data = decodeOwnError(message, seal);
    return data && decodeError(data);
  },
} as const;

/**
 * Throws an error that Restate simply retries. Restate's own errors would have a meaning to it, and the text of other
 * errors, which it stores, may be content. That stays in the worker, as the cause.
 */
export function retry(error: unknown): never {
  if (ReeveError.is(error) && withoutContent.has(error.code)) throw error;
  const name = error instanceof Error ? error.name : typeof error;
  throw new Error(`${name}: its text is in the log of the worker`, { cause: error });
}

function terminal(message: string): TerminalError {
  return new TerminalError(message, { errorCode: businessStatus });
}

function decodeOwnError(message: string, seal: Seal): ErrorData | null {
  if (message.startsWith(mark))
    return Json.as(openJson(seal, Buffer.from(message.slice(mark.length), "base64")));
  if (!message.startsWith("{")) return null;
  try {
    const data: unknown = JSON.parse(message);
    return isJsonObject(data) && unsealed.has(data["code"]) ? Json.as(data) : null;
  } catch {
    return null;
  }
}
