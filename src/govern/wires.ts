import { isJsonObject, type Json, type JsonObject, type Usage } from "#kernel";
import { readUsage, wireField, type OptionFamily } from "#models";

/** The cost-related fields of one request format. */
export interface Wire {
  /** The end of its address. */
  readonly path: string;
  readonly messages: (body: JsonObject) => readonly unknown[];
  /** Whether the prompt has the form that is measured. */
  readonly hasPrompt: (body: JsonObject) => boolean;
  /** Returns the tools and the output format of a request. */
  readonly tools: (body: JsonObject) => readonly unknown[];
  /** The kinds of tools that the provider does not run itself. */
  readonly ownTools: readonly unknown[];
  /** Its rows in the table of options. */
  readonly family: OptionFamily;
  /** Fields that are measured themselves. All others are looked up in the table of options. */
  readonly parts: readonly string[];
  /** Fields that limit the output. The newest comes last, and some providers do not support it. */
  readonly limits: readonly string[];
  /** Returns the fields to add so that the provider reports usage. */
  readonly toReportingFields: (body: JsonObject) => JsonObject;
  /** Returns the usage known after a response, or after one more event of a stream. */
  readonly note: (event: unknown, seen: JsonObject) => JsonObject;
  /** Whether no later event can change the usage. */
  readonly isLast: (event: unknown) => boolean;
  readonly usage: (seen: JsonObject) => Usage | null;
}

const chat: Wire = {
  path: "/chat/completions",
  messages: ({ messages }) => toWireList(messages),
  hasPrompt: ({ messages }) => Array.isArray(messages),
  tools: (body) => [
    ...toWireList(body["tools"]),
    ...toWireList(body["functions"]),
    ...toOptionalList(body["response_format"]),
  ],
  ownTools: ["function", "custom", undefined],
  family: "chat",
  parts: ["model", "messages", "tools", "functions", "response_format"],
  limits: ["max_tokens", "max_completion_tokens"],
  toReportingFields: ({ stream, stream_options: options }) =>
    stream === true ? { stream_options: { ...objectOf(options), include_usage: true } } : {},
  // Some providers report usage with every event; only the last one counts.
  note: (event, seen) => ({ ...seen, ...objectOf(wireField(event, "usage")) }),
  isLast: (event) => event === "[DONE]",
  usage: (seen) =>
    readWireUsage(seen, {
      input: "prompt_tokens",
      output: "completion_tokens",
      details: "prompt_tokens_details",
    }),
};

const responses: Wire = {
  path: "/responses",
  messages: ({ instructions, input }) => [
    ...toOptionalList(instructions),
    ...(Array.isArray(input) ? input : [input]),
  ],
  hasPrompt: ({ input }) => Array.isArray(input) || typeof input === "string",
  tools: (body) => [...toWireList(body["tools"]), ...toOptionalList(body["text"])],
  ownTools: ["function", "custom"],
  family: "responses",
  parts: ["model", "instructions", "input", "tools", "text"],
  limits: ["max_output_tokens"],
  toReportingFields: () => ({}),
  note: (event, seen) => ({
    ...seen,
    ...objectOf(wireField(wireField(event, "response") ?? event, "usage")),
  }),
  isLast: (event) => /^response\.(?:completed|incomplete|failed)$/.test(String(wireField(event, "type"))),
  usage: (seen) =>
    readWireUsage(seen, { input: "input_tokens", output: "output_tokens", details: "input_tokens_details" }),
};

const messages: Wire = {
  path: "/messages",
  messages: ({ system, messages: list }) => [...toOptionalList(system), ...toWireList(list)],
  hasPrompt: ({ messages: list }) => Array.isArray(list),
  tools: (body) => [
    ...toWireList(body["tools"]),
    ...toOptionalList(body["output_format"]),
    ...toOptionalList(body["output_config"]),
  ],
  ownTools: ["custom", undefined],
  family: "messages",
  parts: ["model", "system", "messages", "tools", "output_format", "output_config"],
  limits: ["max_tokens"],
  toReportingFields: () => ({}),
  note: (event, seen) => ({
    ...seen,
    ...objectOf(wireField(wireField(event, "message"), "usage")),
    ...objectOf(wireField(event, "usage")),
  }),
  isLast: (event) => wireField(event, "type") === "message_delta",
  usage: (seen) => {
    const cacheRead = seen["cache_read_input_tokens"] ?? 0;
    const parts = [seen["input_tokens"], seen["cache_creation_input_tokens"] ?? 0, cacheRead];
    const total = parts.reduce((sum: number, part) => sum + Number(part), 0);
    return readUsage({ inputTokens: { total, cacheRead }, outputTokens: { total: seen["output_tokens"] } });
  },
};

const wires: readonly Wire[] = [chat, responses, messages];

/** Returns the format of requests to this URL. */
export function wireOf(url: string): Wire | undefined {
  const { pathname } = new URL(url);
  return wires.find(({ path }) => pathname.endsWith(path));
}

function readWireUsage(
  usage: JsonObject,
  { input, output, details }: { readonly input: string; readonly output: string; readonly details: string },
): Usage | null {
  const cacheRead = wireField(usage[details], "cached_tokens");
  return readUsage({
    inputTokens: { total: usage[input], cacheRead },
    outputTokens: { total: usage[output] },
  });
}

function toWireList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function toOptionalList(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : [value];
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
