import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { answers, type Fault, type FaultKind } from "../../src/testing/fake-provider/index.ts";
import { ask, failure, type Mode, openDouble, type ProviderName, realModel } from "./real-providers.ts";

interface Expected {
  readonly status: number;
  readonly retryable: boolean;
  /** Part of the decoded body; absent if it was not JSON. */
  readonly error?: object;
}

type Refusals = readonly (readonly [Fault | FaultKind, Expected])[];

const openai: Refusals = [
  ["rate-limit", { status: 429, retryable: true, error: { code: "rate_limit_exceeded" } }],
  ["quota", { status: 429, retryable: true, error: { code: "insufficient_quota" } }],
  ["credit-exhausted", { status: 429, retryable: true, error: { code: "insufficient_quota" } }],
  ["server-error", { status: 500, retryable: true, error: { type: "server_error", code: null } }],
  [
    { kind: "server-error", status: 502 },
    { status: 502, retryable: true },
  ],
  [
    { kind: "server-error", status: 503 },
    { status: 503, retryable: true },
  ],
  ["overloaded", { status: 503, retryable: true, error: { code: "server_is_overloaded" } }],
  ["context-overflow", { status: 400, retryable: false, error: { code: "context_length_exceeded" } }],
  ["content-blocked", { status: 400, retryable: false, error: { code: "invalid_prompt" } }],
  ["unauthorized", { status: 401, retryable: false, error: { code: "invalid_api_key" } }],
  ["payment-required", { status: 402, retryable: false, error: { message: "Insufficient Balance" } }],
  ["forbidden", { status: 403, retryable: false, error: { type: "request_forbidden" } }],
  ["revoked", { status: 401, retryable: false, error: { code: "account_deactivated" } }],
  ["disabled", { status: 403, retryable: false, error: { code: "access_terminated" } }],
  ["not-found", { status: 404, retryable: false, error: { code: "model_not_found" } }],
];

const anthropic: Refusals = [
  ["rate-limit", { status: 429, retryable: true, error: { type: "rate_limit_error" } }],
  [
    "quota",
    {
      status: 429,
      retryable: true,
      error: { type: "rate_limit_error", details: { error_code: "enforced_spend_limit_reached" } },
    },
  ],
  [
    "credit-exhausted",
    {
      status: 400,
      retryable: false,
      error: { message: expect.stringContaining("credit balance is too low") },
    },
  ],
  ["server-error", { status: 500, retryable: true, error: { type: "api_error" } }],
  [
    { kind: "server-error", status: 502 },
    { status: 502, retryable: true },
  ],
  [
    { kind: "server-error", status: 503 },
    { status: 503, retryable: true },
  ],
  ["overloaded", { status: 529, retryable: true, error: { type: "overloaded_error" } }],
  [
    "context-overflow",
    { status: 400, retryable: false, error: { message: expect.stringContaining("prompt is too long") } },
  ],
  [
    "content-blocked",
    { status: 400, retryable: false, error: { message: "Output blocked by content filtering policy" } },
  ],
  ["unauthorized", { status: 401, retryable: false, error: { type: "authentication_error" } }],
  ["payment-required", { status: 402, retryable: false, error: { type: "billing_error" } }],
  ["forbidden", { status: 403, retryable: false, error: { type: "permission_error" } }],
  [
    "revoked",
    { status: 403, retryable: false, error: { message: expect.stringContaining("has been revoked") } },
  ],
  ["disabled", { status: 400, retryable: false, error: { message: "This organization has been disabled." } }],
  ["not-found", { status: 404, retryable: false, error: { type: "not_found_error" } }],
];

const tables: readonly (readonly [ProviderName, Refusals])[] = [
  ["chat", openai],
  ["responses", openai],
  ["compatible", openai],
  ["anthropic", anthropic],
];

const cases = tables.flatMap(([name, refusals]) =>
  refusals.map(([fault, expected]) => ({
    name,
    fault,
    expected,
    said: typeof fault === "string" ? fault : JSON.stringify(fault),
  })),
);

test.each(cases)("$name: $said is reported as by the real provider, and costs nothing", async (refusal) => {
  const { name, fault, expected } = refusal;
  const double = await openDouble({ script: answers([{ text: "Never said.", fault }]) });
  const modes: readonly Mode[] = ["generate", "stream"];
  for (const mode of modes) {
    const error = await failure(ask(realModel(name, double), mode));
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: expected.status, isRetryable: expected.retryable });
    expect(error).toMatchObject({ data: expected.error ? { error: expected.error } : undefined });
  }
  expect(double.bill.total()).toEqual({
    requests: 2,
    billed: 0,
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    writtenTokens: 0,
    files: 0,
    fileBytes: 0,
  });
});

test.each(["chat", "anthropic"] as const)(
  "a refusal of %s has a retry time only if the script sets it",
  async (name) => {
    const double = await openDouble({
      script: answers([
        { fault: "rate-limit" },
        { fault: { kind: "rate-limit", retryAfterSeconds: 7 } },
        { fault: { kind: "rate-limit", retryAfterMs: 250 } },
      ]),
    });
    const model = realModel(name, double);
    const errors = [
      await failure(ask(model, "generate")),
      await failure(ask(model, "generate")),
      await failure(ask(model, "generate")),
    ];
    const heads = errors.map((error) => (APICallError.isInstance(error) ? error.responseHeaders : undefined));
    expect(heads.map((head) => head?.["retry-after"])).toEqual([undefined, "7", undefined]);
    expect(heads.map((head) => head?.["retry-after-ms"])).toEqual([undefined, undefined, "250"]);
  },
);

test("a refusal is billed if the test says that the work was done", async () => {
  const fault = { kind: "server-error", billed: true } as const;
  const double = await openDouble({ script: answers([{ text: "Lost.", fault }]) });
  await failure(ask(realModel("chat", double), "generate"));
  expect(double.bill.entries).toMatchObject([{ outcome: "server-error", billed: true, outputTokens: 2 }]);
});

test("a prompt longer than the context window is refused", async () => {
  const double = await openDouble({ script: answers(["Yes."]), contextWindow: 10 });
  const prompt = [
    { role: "system" as const, content: "Answer every question at length, and then some more." },
  ];
  const error = await failure(
    ask(realModel("anthropic", double), "generate", { prompt: [...prompt, ...short] }),
  );
  expect(error).toMatchObject({
    statusCode: 400,
    message: expect.stringMatching(/^prompt is too long: \d+ tokens > 10/),
  });
  expect((await ask(realModel("anthropic", double), "generate", { prompt: short })).text).toBe("Yes.");
});

const short = [{ role: "user" as const, content: [{ type: "text" as const, text: "Well?" }] }];
