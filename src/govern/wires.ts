import { isJsonObject, type Json, type JsonObject, type Usage } from "#kernel";
import { readUsage, wireField } from "#models";

/** How one kind of request says what matters for money. */
export interface Wire {
  /** The end of its address. */
  readonly path: string;
  readonly messages: (body: JsonObject) => readonly unknown[];
  /** What is said about tools and about the form of the answer. */
  readonly tools: (body: JsonObject) => readonly unknown[];
  /** The kinds of tools that the provider does not run itself. */
  readonly ownTools: readonly unknown[];
  /** Fields that bring in what is not in the request. */
  readonly openEnded: readonly string[];
  /** Fields that say how much may come back: the first one that is there, else the last. */
  readonly limits: readonly string[];
  /** What the request must say besides, for usage to be reported. */
  readonly reporting: (body: JsonObject) => JsonObject;
  /** What an answer, or an event of a stream, says about usage: undefined where it says nothing final. */
  readonly usage: (event: unknown, before: JsonObject) => Reported;
}

/** What was reported so far, and the usage where that is all. */
interface Reported {
  readonly seen: JsonObject;
  readonly usage?: Usage | null;
}

const chat: Wire = {
  path: "/chat/completions",
  messages: ({ messages }) => listOf(messages),
  tools: (body) => [
    ...listOf(body["tools"]),
    ...listOf(body["functions"]),
    ...given(body["response_format"]),
  ],
  ownTools: ["function", "custom", undefined],
  openEnded: ["web_search_options", "prediction", "audio"],
  limits: ["max_tokens", "max_completion_tokens"],
  reporting: ({ stream, stream_options: options }) =>
    stream === true ? { stream_options: { ...objectOf(options), include_usage: true } } : {},
  usage: (event, seen) => {
    const usage = wireField(event, "usage");
    return isJsonObject(usage)
      ? { seen, usage: read(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details") }
      : { seen };
  },
};

const responses: Wire = {
  path: "/responses",
  messages: ({ instructions, input }) => [
    ...given(instructions),
    ...(Array.isArray(input) ? input : [input]),
  ],
  tools: (body) => [...listOf(body["tools"]), ...given(body["text"])],
  ownTools: ["function", "custom"],
  openEnded: ["previous_response_id", "conversation", "prompt", "background"],
  limits: ["max_output_tokens"],
  reporting: () => ({}),
  usage: (event, seen) => {
    const usage = wireField(wireField(event, "response") ?? event, "usage");
    return isJsonObject(usage)
      ? { seen, usage: read(usage, "input_tokens", "output_tokens", "input_tokens_details") }
      : { seen };
  },
};

const messages: Wire = {
  path: "/messages",
  messages: ({ system, messages: list }) => [...given(system), ...listOf(list)],
  tools: (body) => [
    ...listOf(body["tools"]),
    ...given(body["output_format"]),
    ...given(body["output_config"]),
  ],
  ownTools: ["custom", undefined],
  openEnded: ["mcp_servers", "container", "fallbacks"],
  limits: ["max_tokens"],
  reporting: () => ({}),
  usage: (event, before) => {
    const started = objectOf(wireField(wireField(event, "message"), "usage"));
    const seen = { ...before, ...started, ...objectOf(wireField(event, "usage")) };
    const kind = wireField(event, "type");
    if (kind !== "message" && kind !== "message_delta") return { seen };
    const {
      input_tokens: fresh,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: cached,
    } = seen;
    const total = [fresh, written ?? 0, cached ?? 0].reduce((sum: number, part) => sum + Number(part), 0);
    const inputTokens = { total, cacheRead: cached ?? 0 };
    return { seen, usage: readUsage({ inputTokens, outputTokens: { total: seen["output_tokens"] } }) };
  },
};

const wires: readonly Wire[] = [chat, responses, messages];

/** Which kind of request this address takes. */
export function wireOf(url: string): Wire | undefined {
  const { pathname } = new URL(url);
  return wires.find(({ path }) => pathname.endsWith(path));
}

function read(usage: JsonObject, input: string, output: string, details: string): Usage | null {
  const cacheRead = wireField(usage[details], "cached_tokens");
  return readUsage({
    inputTokens: { total: usage[input], cacheRead },
    outputTokens: { total: usage[output] },
  });
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function given(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : [value];
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
