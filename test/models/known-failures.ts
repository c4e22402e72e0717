import type { ModelErrorKind } from "#kernel";
import type { Canned } from "./canned-server.ts";
import { wires, type Wire } from "./real-providers.ts";

/** An error as OpenAI sends it. */
const openaiError = (code: string | null, message = "no", type = "invalid_request_error") => ({
  error: { message, type, param: null, code },
});

/** An error as Anthropic sends it. */
export const anthropicError = (type: string, message = "no") => ({
  type: "error",
  error: { type, message },
  request_id: "req_1",
});

/** A response and its meaning. */
export interface Fact {
  readonly says: string;
  readonly wires: readonly Wire[];
  readonly canned: Canned;
  readonly kind: ModelErrorKind;
  readonly unbilled: boolean;
  readonly retryAfterMs?: number;
}

const openai: readonly Wire[] = ["openai chat", "openai responses", "openai-compatible"];

export const facts: readonly Fact[] = [
  {
    says: "429 with a header in seconds",
    wires: openai,
    canned: {
      status: 429,
      headers: { "retry-after": "7" },
      body: openaiError("rate_limit_exceeded", "Rate limit reached", "requests"),
    },
    kind: "rate-limit",
    unbilled: true,
    retryAfterMs: 7_000,
  },
  {
    says: "429 with a header in milliseconds",
    wires: openai,
    canned: {
      status: 429,
      headers: { "retry-after": "9", "retry-after-ms": "1500" },
      body: openaiError("rate_limit_exceeded"),
    },
    kind: "rate-limit",
    unbilled: true,
    retryAfterMs: 1_500,
  },
  {
    says: "429 with a date",
    wires: ["anthropic"],
    canned: {
      status: 429,
      headers: { date: "Sun, 15 Nov 2026 10:00:00 GMT", "retry-after": "Sun, 15 Nov 2026 10:00:30 GMT" },
      body: anthropicError("rate_limit_error"),
    },
    kind: "rate-limit",
    unbilled: true,
    retryAfterMs: 30_000,
  },
  {
    says: "429 of an empty account",
    wires: openai,
    canned: {
      status: 429,
      body: openaiError("insufficient_quota", "You exceeded your current quota", "insufficient_quota"),
    },
    kind: "billing",
    unbilled: true,
  },
  {
    says: "429 with a billing error",
    wires: ["anthropic"],
    canned: { status: 429, body: anthropicError("billing_error") },
    kind: "billing",
    unbilled: true,
  },
  {
    says: "400 because the credit is used up",
    wires: ["anthropic"],
    canned: {
      status: 400,
      body: anthropicError(
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
      ),
    },
    kind: "billing",
    unbilled: true,
  },
  {
    says: "402",
    wires,
    canned: { status: 402, body: {} },
    kind: "billing",
    unbilled: true,
  },
  {
    says: "a single request above the limit per minute",
    wires: openai,
    canned: {
      status: 429,
      body: openaiError(
        "rate_limit_exceeded",
        "Request too large for gpt-4o: Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.",
        "tokens",
      ),
    },
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "401",
    wires: openai,
    canned: { status: 401, body: openaiError("invalid_api_key", "Incorrect API key provided") },
    kind: "auth",
    unbilled: true,
  },
  {
    says: "401",
    wires: ["anthropic"],
    canned: { status: 401, body: anthropicError("authentication_error", "invalid x-api-key") },
    kind: "auth",
    unbilled: true,
  },
  {
    says: "401 of a deactivated account",
    wires: openai,
    canned: { status: 401, body: openaiError("account_deactivated", "no") },
    kind: "auth-permanent",
    unbilled: true,
  },
  {
    says: "403 of a revoked key",
    wires: ["anthropic"],
    canned: { status: 403, body: anthropicError("permission_error", "This API key has been revoked.") },
    kind: "auth-permanent",
    unbilled: true,
  },
  {
    says: "403",
    wires,
    canned: { status: 403, body: {} },
    kind: "auth",
    unbilled: true,
  },
  {
    says: "400 of an organization that is no more",
    wires: ["anthropic"],
    canned: {
      status: 400,
      body: anthropicError("invalid_request_error", "This organization has been disabled."),
    },
    kind: "auth-permanent",
    unbilled: true,
  },
  {
    says: "an overlong prompt by its code",
    wires: openai,
    canned: { status: 400, body: openaiError("context_length_exceeded") },
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "an overlong prompt by its words",
    wires: ["anthropic"],
    canned: {
      status: 400,
      body: anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    },
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "a prompt and an answer that do not fit together",
    wires: ["anthropic"],
    canned: {
      status: 400,
      body: anthropicError(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      ),
    },
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "413",
    wires,
    canned: { status: 413, body: "<html>Request Entity Too Large</html>" },
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "a blocked prompt by its code",
    wires: openai,
    canned: { status: 400, body: openaiError("content_filter", "The response was filtered") },
    kind: "content-blocked",
    unbilled: false,
  },
  {
    says: "a blocked prompt by its words",
    wires: ["anthropic"],
    canned: {
      status: 400,
      body: anthropicError("invalid_request_error", "Output blocked by content filtering policy"),
    },
    kind: "content-blocked",
    unbilled: false,
  },
  {
    says: "404",
    wires: openai,
    canned: { status: 404, body: openaiError("model_not_found") },
    kind: "model-not-found",
    unbilled: true,
  },
  {
    says: "404",
    wires: ["anthropic"],
    canned: { status: 404, body: anthropicError("not_found_error", "model: claude-99") },
    kind: "model-not-found",
    unbilled: true,
  },
  {
    says: "400 of a request it does not understand",
    wires,
    canned: { status: 400, body: openaiError(null, "Invalid value for 'tools'") },
    kind: "format",
    unbilled: true,
  },
  {
    says: "408",
    wires,
    canned: { status: 408, body: {} },
    kind: "timeout",
    unbilled: false,
  },
  {
    says: "500",
    wires: openai,
    canned: { status: 500, body: openaiError(null, "The server had an error", "server_error") },
    kind: "server-error",
    unbilled: true,
  },
  {
    says: "500",
    wires: ["anthropic"],
    canned: { status: 500, body: anthropicError("api_error", "Internal server error") },
    kind: "server-error",
    unbilled: true,
  },
  {
    says: "502 of a gateway in between",
    wires,
    canned: { status: 502, body: "<html>Bad Gateway</html>" },
    kind: "server-error",
    unbilled: false,
  },
  {
    says: "503",
    wires,
    canned: { status: 503, body: {} },
    kind: "overloaded",
    unbilled: true,
  },
  {
    says: "504 of a gateway in between",
    wires,
    canned: { status: 504, body: "upstream timed out" },
    kind: "timeout",
    unbilled: false,
  },
  {
    says: "529",
    wires: ["anthropic"],
    canned: { status: 529, body: anthropicError("overloaded_error", "Overloaded") },
    kind: "overloaded",
    unbilled: true,
  },
  {
    says: "200 with something that is not an answer",
    wires: openai,
    canned: { body: "<html>Welcome to the wifi</html>" },
    kind: "server-error",
    unbilled: false,
  },
];
