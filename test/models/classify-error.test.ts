import { expect, test } from "vitest";
import { CancellationError, ModelError, type ModelErrorKind } from "#kernel";
import { classifyError, languageModel } from "#models";
import { fakeV4 } from "./fake-models.ts";
import { ask } from "./real-providers.ts";

interface Shape {
  readonly says: string;
  readonly error: unknown;
  readonly kind: ModelErrorKind;
  readonly unbilled?: boolean;
}

const responseError = (statusCode: number, body: unknown, more: object = {}) =>
  Object.assign(new Error("Bad Request"), {
    name: "AI_APICallError",
    statusCode,
    responseBody: JSON.stringify(body),
    responseHeaders: { "content-type": "application/json" },
    requestBodyValues: { messages: ["a secret"] },
    ...more,
  });

const errorWithCode = (code: string, cause?: unknown) => Object.assign(new Error(code, { cause }), { code });

const shapes: readonly Shape[] = [
  {
    says: "a quota of Google for a minute, although it speaks of billing",
    error: responseError(429, {
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "You exceeded your current quota, please check your plan and billing details.",
      },
    }),
    kind: "rate-limit",
    unbilled: true,
  },
  {
    says: "a prompt too long for Google",
    error: responseError(400, {
      error: {
        code: 400,
        status: "INVALID_ARGUMENT",
        message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      },
    }),
    kind: "context-overflow",
    unbilled: true,
  },
  {
    says: "a prompt too long for Bedrock",
    error: responseError(400, { message: "Input is too long for requested model." }),
    kind: "context-overflow",
  },
  {
    says: "a prompt too long for a local server",
    error: responseError(400, {
      error: { type: "exceed_context_size_error", message: "the request exceeds the available context size" },
    }),
    kind: "context-overflow",
  },
  {
    says: "a prompt too long for Azure, which charges for it",
    error: responseError(
      400,
      { error: { code: "context_length_exceeded", message: "no" } },
      { url: "https://x.openai.azure.com/openai" },
    ),
    kind: "context-overflow",
    unbilled: false,
  },
  {
    says: "a prompt blocked by Azure",
    error: responseError(400, {
      error: { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } },
    }),
    kind: "content-blocked",
    unbilled: false,
  },
  {
    says: "a prompt flagged by OpenAI",
    error: responseError(400, {
      error: {
        code: "invalid_prompt",
        message: "Your prompt was flagged as potentially violating our usage policy.",
      },
    }),
    kind: "content-blocked",
  },
  {
    says: "too many output tokens",
    error: responseError(400, { error: { message: "max_tokens is too large: 99999" } }),
    kind: "format",
    unbilled: true,
  },
  {
    says: "a model one may not use",
    error: responseError(403, { error: { code: "model_not_found" } }),
    kind: "model-not-found",
  },
  {
    says: "an overload under another status",
    error: responseError(500, { error: { type: "overloaded_error" } }),
    kind: "overloaded",
  },
  { says: "a conflict", error: responseError(409, {}), kind: "server-error" },
  {
    says: "a raw error of another SDK",
    error: { status: 429, message: "slow", headers: new Headers({ "retry-after": "1" }) },
    kind: "rate-limit",
    unbilled: true,
  },
  {
    says: "an error in an error of a library that retried",
    error: Object.assign(new Error("Failed after 3 attempts"), { lastError: responseError(402, {}) }),
    kind: "billing",
  },
  {
    says: "a number as code inside a stream",
    error: { message: "upstream", code: 502, type: "x" },
    kind: "server-error",
    unbilled: false,
  },
  {
    says: "a plain rate limit inside a stream",
    error: { type: "rate_limit_error", message: "no" },
    kind: "rate-limit",
    unbilled: false,
  },
  {
    says: "a plain error of the provider inside a stream",
    error: { type: "api_error", message: "no" },
    kind: "server-error",
    unbilled: false,
  },
  { says: "a plain refusal inside a stream", error: { type: "authentication_error" }, kind: "auth" },
  { says: "a wrong request inside a stream", error: { type: "invalid_request_error" }, kind: "format" },
  {
    says: "a name that does not resolve",
    error: new Error("fetch failed", { cause: errorWithCode("ENOTFOUND") }),
    kind: "server-error",
    unbilled: true,
  },
  {
    says: "a connection that never came about in time",
    error: new Error("fetch failed", { cause: errorWithCode("UND_ERR_CONNECT_TIMEOUT") }),
    kind: "timeout",
    unbilled: true,
  },
  {
    says: "headers that never came",
    error: new Error("fetch failed", { cause: errorWithCode("UND_ERR_HEADERS_TIMEOUT") }),
    kind: "timeout",
    unbilled: false,
  },
  {
    says: "a body that stopped coming",
    error: responseError(200, "", { cause: errorWithCode("UND_ERR_BODY_TIMEOUT") }),
    kind: "timeout",
    unbilled: false,
  },
  {
    says: "a reset in the middle",
    error: responseError(200, "", {
      cause: new TypeError("terminated", { cause: errorWithCode("UND_ERR_SOCKET") }),
    }),
    kind: "server-error",
    unbilled: false,
  },
  { says: "a bare reset", error: errorWithCode("ECONNRESET"), kind: "server-error", unbilled: false },
  {
    says: "an abort of another caller",
    error: new DOMException("This operation was aborted", "AbortError"),
    kind: "timeout",
    unbilled: false,
  },
  {
    says: "a chunk that cannot be read",
    error: Object.assign(new Error('Text: {"secret'), { name: "AI_JSONParseError" }),
    kind: "server-error",
    unbilled: false,
  },
  {
    says: "a feature the package does not have",
    error: Object.assign(new Error("no"), { name: "AI_UnsupportedFunctionalityError" }),
    kind: "format",
    unbilled: true,
  },
  { says: "a string", error: "it broke", kind: "unknown", unbilled: false },
  { says: "nothing", error: undefined, kind: "unknown", unbilled: false },
  { says: "a bug", error: new TypeError("x is not a function"), kind: "unknown", unbilled: false },
];

test.for(shapes)("$says is $kind", ({ error, kind, unbilled }) => {
  const classified = classifyError(error);
  expect(classified).toMatchObject({ kind, ...(unbilled !== undefined && { unbilled }) });
});

test("an error with a cyclic cause is classified", () => {
  const error = new Error("a");
  error.cause = new Error("b", { cause: error });
  expect(classifyError(error).kind).toBe("unknown");
});

test("a classified error is not classified again", () => {
  const error = new ModelError({ kind: "billing", message: "no" });
  expect(classifyError(error)).toBe(error);
});

test("once an answer has begun, nothing is unbilled", () => {
  const refused = { statusCode: 429, message: "no", responseHeaders: { date: "today" } };
  expect(classifyError(refused).unbilled).toBe(true);
  expect(classifyError(refused, { answered: true }).unbilled).toBe(false);
});

test("neither message nor cause nor JSON carries the prompt or the answer", () => {
  const cause = Object.assign(new Error('JSON parsing failed: Text: {"a secret'), {
    name: "AI_JSONParseError",
  });
  const error = classifyError(responseError(200, "a secret", { cause, message: "Invalid JSON response" }));
  expect(error.message).toBe("server-error (200): the answer could not be read");
  expect(JSON.stringify(error)).not.toContain("secret");
  expect(error.cause).toBe(cause);
  const refused = classifyError(responseError(400, {}));
  expect(refused.cause).toBeUndefined();
});

test("a long message is cut", () => {
  expect(classifyError({ statusCode: 400, message: "x".repeat(5_000) }).message.length).toBeLessThan(330);
});

const now = Date.parse("2026-11-15T10:00:00Z");

test.for([
  { headers: { "Retry-After": "2" }, ms: 2_000 },
  { headers: { "retry-after": "0.5" }, ms: 500 },
  { headers: { "retry-after-ms": "1200.4", "retry-after": "9" }, ms: 1_201 },
  { headers: { "retry-after": "Sun, 15 Nov 2026 10:01:00 GMT" }, ms: 60_000 },
  { headers: { "retry-after": "Sun, 15 Nov 2026 09:00:00 GMT" }, ms: 0 },
  { headers: { "retry-after": "soon" }, ms: null },
  { headers: { "retry-after": "-5" }, ms: null },
  { headers: {}, ms: null },
])("$headers means to wait $ms ms", ({ headers, ms }) => {
  const error = { statusCode: 429, message: "no", responseHeaders: headers };
  expect(classifyError(error, { now }).retryAfterMs).toBe(ms);
});

test("a Retry-After date without a reference time gives no delay", () => {
  const responseHeaders = { "retry-after": "Sun, 15 Nov 2026 10:01:00 GMT" };
  expect(classifyError({ statusCode: 429, responseHeaders }).retryAfterMs).toBeNull();
});

test("errors of the runtime pass through a model unchanged", async () => {
  const error = new CancellationError({ reason: "governed" });
  const { model } = fakeV4([]);
  const governed = { ...model, doGenerate: () => Promise.reject(error) };
  await expect(ask(languageModel(governed), "whole")).rejects.toBe(error);
});
