import type { Refusal } from "../fault.ts";
import { serverError } from "./openai-refusals.ts";
import type { InvalidRequestError, RefusalFacts, RefusalReply } from "./wire-format.ts";

interface AnthropicError {
  readonly type: string;
  readonly message: string;
  readonly details?: { readonly error_code: string };
}

/** Builds a refusal as Anthropic sends it. */
export function refuseAsAnthropic(refusal: Refusal, facts: RefusalFacts): RefusalReply {
  switch (refusal.kind) {
    case "rate-limit":
      return rateLimit(refusal, facts);
    case "server-error":
      return refusal.status === 502 || refusal.status === 503
        ? serverError(refusal.status)
        : reply(500, { type: "api_error", message: "Internal server error" }, facts);
    case "overloaded":
      return reply(
        529,
        { type: "overloaded_error", message: "Overloaded" },
        { ...facts, headers: { "x-should-retry": "true" } },
      );
    case "quota":
    case "credit-exhausted":
    case "payment-required":
      return moneyGone(refusal.kind, facts);
    case "context-overflow":
      return invalid(
        `prompt is too long: ${facts.inputTokens} tokens > ${facts.contextWindow} maximum`,
        facts,
      );
    case "content-blocked":
      return invalid("Output blocked by content filtering policy", facts);
    case "unauthorized":
      return reply(401, { type: "authentication_error", message: "invalid x-api-key" }, facts);
    case "forbidden":
      return permission("Your API key does not have permission to use the specified resource.", facts);
    case "revoked":
      return permission("OAuth token has been revoked. Please obtain a new token.", facts);
    case "disabled":
      return invalid("This organization has been disabled.", facts);
    case "not-found":
      return reply(404, { type: "not_found_error", message: `model: ${facts.model}` }, facts);
  }
}

/** A request that Anthropic would not accept. */
export function rejectAsAnthropic({ status, message }: InvalidRequestError): RefusalReply {
  return reply(status, { type: "invalid_request_error", message }, { requestId: "req_double" });
}

function rateLimit(
  { retryAfterSeconds, retryAfterMs }: Extract<Refusal, { kind: "rate-limit" }>,
  facts: RefusalFacts,
): RefusalReply {
  const message =
    "This request would exceed your organization's rate limit of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.";
  const headers = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "0",
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    ...(retryAfterMs !== undefined && { "retry-after-ms": String(retryAfterMs) }),
  };
  return reply(429, { type: "rate_limit_error", message }, { ...facts, headers });
}

/** Three different answers to the same trouble: only the last has a type of its own. */
function moneyGone(
  kind: "quota" | "credit-exhausted" | "payment-required",
  facts: RefusalFacts,
): RefusalReply {
  switch (kind) {
    case "quota":
      return reply(
        429,
        {
          type: "rate_limit_error",
          message: "Your organization has reached its monthly API usage limit.",
          details: { error_code: "enforced_spend_limit_reached" },
        },
        facts,
      );
    case "credit-exhausted":
      return invalid(
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
        facts,
      );
    case "payment-required":
      return reply(
        402,
        { type: "billing_error", message: "There's an issue with your billing or payment information." },
        facts,
      );
  }
}

function invalid(message: string, facts: RefusalFacts): RefusalReply {
  return reply(400, { type: "invalid_request_error", message }, facts);
}

function permission(message: string, facts: RefusalFacts): RefusalReply {
  return reply(403, { type: "permission_error", message }, facts);
}

function reply(
  status: number,
  error: AnthropicError,
  {
    requestId,
    headers = {},
  }: Pick<RefusalFacts, "requestId"> & { readonly headers?: Readonly<Record<string, string>> },
): RefusalReply {
  const body = JSON.stringify({ type: "error", error, request_id: requestId });
  return { status, contentType: "application/json", headers: { "request-id": requestId, ...headers }, body };
}
