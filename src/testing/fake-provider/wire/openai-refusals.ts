import type { Refusal } from "../fault.ts";
import type { InvalidRequestError, RefusalFacts, RefusalReply } from "./wire-format.ts";

interface OpenAIError {
  readonly message: string;
  readonly type: string;
  readonly param?: string | null;
  readonly code?: string | null;
}

/** Builds a refusal as OpenAI sends it. A refusal that OpenAI does not have is sent as by compatible servers. */
export function refuseAsOpenAI(refusal: Refusal, facts: RefusalFacts): RefusalReply {
  switch (refusal.kind) {
    case "rate-limit":
      return rateLimit(refusal, facts);
    case "server-error":
      return serverError(refusal.status ?? 500);
    case "overloaded":
      return reply(503, overload);
    case "quota":
    case "credit-exhausted":
      return reply(429, {
        message:
          "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        type: "insufficient_quota",
        code: "insufficient_quota",
      });
    case "context-overflow":
      return contextOverflow(facts);
    case "content-blocked":
      return reply(400, {
        message:
          "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
        type: "invalid_request_error",
        code: "invalid_prompt",
      });
    case "unauthorized":
    case "payment-required":
    case "forbidden":
    case "revoked":
    case "disabled":
    case "not-found":
      return accessRefused(refusal.kind, facts);
  }
}

/** The error of an overloaded OpenAI, in a response and in a stream. */
export const overload: Required<OpenAIError> = {
  message: "Our servers are currently overloaded. Please try again later.",
  type: "service_unavailable_error",
  param: null,
  code: "server_is_overloaded",
};

/** A request that OpenAI would not accept. */
export function rejectAsOpenAI({ status, message, param, code }: InvalidRequestError): RefusalReply {
  return reply(status, { message, type: "invalid_request_error", param, code });
}

function rateLimit(
  { retryAfterSeconds, retryAfterMs }: Extract<Refusal, { kind: "rate-limit" }>,
  { model }: RefusalFacts,
): RefusalReply {
  const error = {
    message: `Rate limit reached for ${model} in organization org-double on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more.`,
    type: "requests",
    code: "rate_limit_exceeded",
  };
  return reply(429, error, {
    "x-ratelimit-limit-requests": "3",
    "x-ratelimit-remaining-requests": "0",
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    ...(retryAfterMs !== undefined && { "retry-after-ms": String(retryAfterMs) }),
  });
}

/** A 502 comes from the proxy in front of the provider, a 503 from its load balancer; neither is JSON. */
export function serverError(status: 500 | 502 | 503): RefusalReply {
  if (status === 502) {
    const body =
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n";
    return { status, contentType: "text/html", headers: {}, body };
  }
  if (status === 503) {
    const body = "upstream connect error or disconnect/reset before headers. reset reason: overflow";
    return { status, contentType: "text/plain", headers: {}, body };
  }
  return reply(status, {
    message: "The server had an error while processing your request. Sorry about that!",
    type: "server_error",
  });
}

function contextOverflow({ wire, inputTokens, contextWindow }: RefusalFacts): RefusalReply {
  const chat = wire === "openai-chat";
  return reply(400, {
    message: chat
      ? `This model's maximum context length is ${contextWindow} tokens. However, your messages resulted in ${inputTokens} tokens. Please reduce the length of the messages.`
      : "Your input exceeds the context window of this model. Please adjust your input and try again.",
    type: "invalid_request_error",
    param: chat ? "messages" : "input",
    code: "context_length_exceeded",
  });
}

function accessRefused(
  kind: "unauthorized" | "payment-required" | "forbidden" | "revoked" | "disabled" | "not-found",
  { model }: RefusalFacts,
): RefusalReply {
  switch (kind) {
    case "unauthorized":
      return reply(401, {
        message:
          "Incorrect API key provided: sk-doubl***********************test. You can find your API key at https://platform.openai.com/account/api-keys.",
        type: "invalid_request_error",
        code: "invalid_api_key",
      });
    case "payment-required":
      return reply(402, {
        message: "Insufficient Balance",
        type: "unknown_error",
        code: "invalid_request_error",
      });
    case "forbidden":
      return reply(403, {
        message: "Country, region, or territory not supported",
        type: "request_forbidden",
        code: "unsupported_country_region_territory",
      });
    case "revoked":
      return reply(401, {
        message:
          "The OpenAI account associated with this API key has been deactivated. If you are the developer for this OpenAI app, please check your email for more information. If you are seeing this error while using another app or site, please reach out to them for more help.",
        type: "invalid_request_error",
        code: "account_deactivated",
      });
    case "disabled":
      return reply(403, {
        message:
          "Your access was terminated due to violation of our policies, please check your email for more information. If you believe this is in error and would like to appeal, please contact us through our help center at help.openai.com.",
        type: "access_terminated",
        code: "access_terminated",
      });
    case "not-found":
      return reply(404, {
        message: `The model \`${model}\` does not exist or you do not have access to it.`,
        type: "invalid_request_error",
        code: "model_not_found",
      });
  }
}

function reply(status: number, error: OpenAIError, headers: Record<string, string> = {}): RefusalReply {
  const body = JSON.stringify({ error: { ...error, param: error.param ?? null, code: error.code ?? null } });
  return { status, contentType: "application/json", headers, body };
}
