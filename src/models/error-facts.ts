import { isJsonObject } from "#kernel";
import { wireField, wireText } from "./wire-field.ts";

const deepest = 8;
const longestBody = 65_536;

/** Fields in which providers nest the actual error. */
const nested = ["error", "response", "data", "innererror", "details", "lastError"] as const;
/** Fields that hold an error code. */
const named = ["code", "type", "status", "reason", "error_code", "error_type"] as const;

/** The facts of any error: an `APICallError`, a socket error, a plain object from a stream. */
export interface ErrorFacts {
  /** Status of the response, or the one stated inside a stream. Null if there was no response. */
  readonly status: number | null;
  /** Every code, type and status it names, lower case, with spaces between. */
  readonly codes: string;
  readonly message: string;
  /** The searchable text: the message, and the body if it could not be decoded. Lower case. */
  readonly words: string;
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and codes of the error and of everything that caused it. */
  readonly causes: ReadonlySet<string>;
  readonly url: string;
}

/** Reads the facts of an error by its shape. */
export function errorFacts(error: unknown): ErrorFacts {
  const chain = causeChain(error);
  const bodies = chain.flatMap((link) => [link, parseErrorBody(wireField(link, "responseBody"))]);
  const codes = bodies.flatMap((body) => namedIn(body, 0));
  const message =
    firstString(chain, "message") ??
    firstString(
      bodies.map((body) => wireField(body, "error")),
      "message",
    );
  const undecoded = chain.find((link) => wireField(link, "data") === undefined);
  const words = `${message ?? ""} ${wireText(undecoded, "responseBody").slice(0, longestBody)}`;
  return {
    status: findStatus(chain, codes),
    codes: codes.join(" ").toLowerCase(),
    message: message ?? (typeof error === "string" ? error : ""),
    words: (message === undefined && typeof error === "string" ? error : words).toLowerCase(),
    headers: headersOf(chain),
    causes: new Set(chain.flatMap((link) => [wireText(link, "name"), wireText(link, "code")])),
    url: firstString(chain, "url") ?? "",
  };
}

function causeChain(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let link = error;
  while (link !== undefined && link !== null && chain.length < deepest && !chain.includes(link)) {
    chain.push(link);
    // A library that retried keeps the last error in this field.
    link = wireField(link, "lastError") ?? wireField(link, "cause");
  }
  return chain;
}

function namedIn(value: unknown, depth: number): string[] {
  if (depth > deepest / 2 || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => namedIn(item, depth + 1));
  return [
    ...named
      .map((name) => wireField(value, name))
      .filter((code) => typeof code === "string" || typeof code === "number")
      .map(String),
    ...nested.flatMap((name) => namedIn(wireField(value, name), depth + 1)),
  ];
}

function findStatus(chain: readonly unknown[], codes: readonly string[]): number | null {
  for (const link of chain) {
    const status = wireField(link, "statusCode") ?? wireField(link, "status");
    if (typeof status === "number") return status;
  }
  const inside = codes.find((code) => /^[45]\d\d$/.test(code));
  return inside === undefined ? null : Number(inside);
}

function headersOf(chain: readonly unknown[]): Record<string, string> {
  for (const link of chain) {
    const headers = wireField(link, "responseHeaders") ?? wireField(link, "headers");
    if (headers instanceof Headers) return Object.fromEntries(headers);
    if (isJsonObject(headers))
      return Object.fromEntries(
        Object.keys(headers).map((name) => [name.toLowerCase(), wireText(headers, name)]),
      );
  }
  return {};
}

function firstString(values: readonly unknown[], name: string): string | undefined {
  for (const value of values) {
    const found = wireText(value, name);
    if (found !== "") return found;
  }
  return undefined;
}

function parseErrorBody(body: unknown): unknown {
  if (typeof body !== "string" || body.length > longestBody) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
