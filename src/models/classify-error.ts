import { ModelError, type ModelErrorKind } from "#kernel";
import { errorFacts, type ErrorFacts } from "./error-facts.ts";
import { retryAfterMs } from "./retry-after.ts";
import { wireField } from "./wire-field.ts";

/** Characters of a provider's message that an error keeps. */
const longestMessage = 300;

/** A rule that selects an error kind. All given conditions must match; the first matching rule wins. */
interface Rule {
  readonly kind: ModelErrorKind;
  /** One of these statuses. */
  readonly status?: readonly number[];
  /** Matches the error codes. */
  readonly codes?: RegExp;
  /** Matches the message. */
  readonly words?: RegExp;
}

/** Codes and messages take precedence over the status, because providers use one status for very different errors. */
const rules: readonly Rule[] = [
  {
    kind: "billing",
    codes: /insufficient_(?:quota|balance|credit|funds)|billing|payment_required|credits?_|spend_limit/,
  },
  {
    kind: "billing",
    words: /credit balance is too low|used all available credits|insufficient (?:balance|credits)/,
  },
  {
    kind: "auth-permanent",
    status: [401, 403],
    codes: /revoked|disabled|deactivated|suspended|access_terminated/,
  },
  { kind: "auth-permanent", status: [401, 403], words: /revoked|disabled|deactivated|suspended/ },
  {
    kind: "auth-permanent",
    status: [400],
    words: /(?:organi[sz]ation|account) has been (?:disabled|deactivated|suspended)/,
  },
  { kind: "model-not-found", codes: /model_not_found/ },
  {
    kind: "context-overflow",
    codes: /context_length|context_size|context_window|request_too_large|string_above_max/,
  },
  // A single request above the limit per minute: waiting never helps, a shorter prompt does.
  { kind: "context-overflow", status: [429], words: /must be reduced in order to run/ },
  {
    kind: "context-overflow",
    status: [400, 413, 422],
    words:
      /prompt is too long|input is too long|exceeds? (?:the )?(?:\w+ )?context|context (?:length|window|limit|size)|input token count|maximum prompt length|reduce the length of|exceeded model token limit/,
  },
  {
    kind: "content-blocked",
    codes: /content_?filter|content_policy|policy_violation|moderation|invalid_prompt|responsibleai/,
  },
  {
    kind: "content-blocked",
    status: [400, 403, 422],
    words:
      /content filter|content management policy|usage policy|flagged (?:as|by)|blocked by (?:\w+ )?policy|blocked by \w+ \w+ policy/,
  },
  { kind: "overloaded", codes: /overloaded|slow_down/ },
  { kind: "rate-limit", status: [429] },
  { kind: "auth", status: [401, 403, 407] },
  { kind: "billing", status: [402] },
  { kind: "model-not-found", status: [404, 410] },
  { kind: "context-overflow", status: [413] },
  { kind: "timeout", status: [408, 504, 522, 524] },
  { kind: "overloaded", status: [498, 503, 529] },
];

/** Rules for errors inside a stream, which have no status. */
const streamRules: readonly Rule[] = [
  { kind: "rate-limit", codes: /rate_?limit|throttl|resource_exhausted|too_many/ },
  { kind: "overloaded", codes: /unavailable/ },
  { kind: "timeout", codes: /timeout|deadline_exceeded/ },
  { kind: "auth", codes: /authentication|unauthenticated|permission|access_?denied/ },
  { kind: "model-not-found", codes: /not_found/ },
  { kind: "format", codes: /invalid_request|invalid_argument|validation/ },
  { kind: "server-error", codes: /server_?error|api_error|internal/ },
];

const timeouts = [
  "TimeoutError",
  "ETIMEDOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "AbortError",
];
/** Codes of requests that never reached the provider. */
const unreached = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
  "FailedToOpenSocket",
];
const cut = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "ConnectionClosed"];
/** An answer that came, and could not be read. */
const unreadable = [
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
];
/** The provider's package refused before anything was sent. */
const refusedHere: ReadonlyMap<string, ModelErrorKind> = new Map([
  ["AI_LoadAPIKeyError", "auth"],
  ["AI_LoadSettingError", "auth"],
  ["AI_NoSuchModelError", "model-not-found"],
  ["AI_UnsupportedFunctionalityError", "format"],
  ["AI_InvalidPromptError", "format"],
  ["AI_InvalidArgumentError", "format"],
  ["ERR_INVALID_URL", "format"],
]);

/** Facts about the call beyond its error. */
export interface ErrorCircumstances {
  /** Reference time for a `Retry-After` date, in milliseconds since 1970. Default: the date of the response. */
  readonly now?: number;
  /** Had the provider begun to answer? Then it is never unbilled. Default false. */
  readonly answered?: boolean;
}

/**
 * Converts a failure of a model call into a `ModelError`. It is recognised by shape, not by class, because the same
 * failure may be an error, an error of another copy of the package, or a plain object. Aborts are not handled here: the
 * caller throws the signal's reason.
 */
export function classifyError(error: unknown, circumstances: ErrorCircumstances = {}): ModelError {
  if (error instanceof ModelError) return error;
  const facts = errorFacts(error);
  const kind = kindOf(facts);
  const classified = new ModelError({
    kind,
    message: toErrorMessage(facts, kind),
    statusCode: facts.status,
    retryAfterMs: retryAfterMs(facts.headers, circumstances.now),
    unbilled: circumstances.answered !== true && isUnbilled(facts, kind),
  });
  // An APICallError holds the whole prompt, which must not reach a log, so only its cause is kept.
  classified.cause = wireField(error, "requestBodyValues") === undefined ? error : wireField(error, "cause");
  return classified;
}

function kindOf(facts: ErrorFacts): ModelErrorKind {
  const { status, causes } = facts;
  // The answer began and broke off, so the connection or the provider failed, whatever the message.
  const begun = status !== null && status < 400;
  if (begun || status === null) {
    if (has(causes, timeouts)) return "timeout";
    if (begun || has(causes, unreached) || has(causes, cut) || has(causes, unreadable)) return "server-error";
    for (const [name, kind] of refusedHere) if (causes.has(name)) return kind;
    if (/terminated|socket hang up|other side closed/.test(facts.words)) return "server-error";
  }
  const ruled = rules.find((rule) => matchesRule(rule, facts))?.kind;
  if (ruled) return ruled;
  if (status === null) return streamRules.find((rule) => matchesRule(rule, facts))?.kind ?? "unknown";
  return status >= 500 || status === 409 || status === 425 ? "server-error" : "format";
}

function matchesRule({ status, codes, words }: Rule, facts: ErrorFacts): boolean {
  return (
    (!status || (facts.status !== null && status.includes(facts.status))) &&
    (!codes || codes.test(facts.codes)) &&
    (!words || words.test(facts.words))
  );
}

/**
 * True only if the call certainly cost nothing. A refused prompt may be billed: Azure charges for blocked and for
 * overlong prompts. A gateway's 502 and a timeout do not show what the provider did; nor does a failure inside an
 * accepted stream, unless it states that nothing was done.
 */
function isUnbilled({ status, codes, headers, causes, url }: ErrorFacts, kind: ModelErrorKind): boolean {
  if (status === null) return has(causes, unreached) || has(causes, [...refusedHere.keys()]);
  // Without headers, the status comes from inside a stream, not from a response.
  if (Object.keys(headers).length === 0) return false;
  if (status < 400 || kind === "timeout" || kind === "content-blocked") return false;
  if (kind === "context-overflow" && /\bazure\b/.test(url)) return false;
  if (status === 502 && codes === "") return false;
  const inStream = headers["content-type"]?.includes("event-stream") === true;
  return !(inStream && (kind === "server-error" || kind === "unknown"));
}

/** Unreadable text is content, and content must not be part of errors. */
function toErrorMessage({ message, status, causes }: ErrorFacts, kind: ModelErrorKind): string {
  const said = has(causes, unreadable) ? "the answer could not be read" : message.slice(0, longestMessage);
  return `${kind}${status === null ? "" : ` (${status})`}: ${said === "" ? "no reason given" : said}`;
}

function has(causes: ReadonlySet<string>, names: readonly string[]): boolean {
  return names.some((name) => causes.has(name));
}
