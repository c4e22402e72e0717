import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Price } from "./price.ts";
import type { Usage } from "./usage.ts";

/** What a model is told about a tool. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: JsonObject;
}

/** Settings of a model call that most providers know. One that a provider does not know is ignored there. */
export interface ModelSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  /** Texts at which the model stops. */
  readonly stopSequences?: readonly string[] | undefined;
  /** For answers that can be repeated, where the provider can. */
  readonly seed?: number | undefined;
  /** How much the model thinks before it answers. Thinking counts as output, inside the limit. */
  readonly reasoning?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | undefined;
}

/** Whether and which tool the model calls. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** One model call. */
export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Never more than this many tokens may come back: the money for more is not there. */
  readonly maxOutputTokens: number;
  readonly settings?: ModelSettings;
  /** Default: auto. */
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema of the answer, for a model that takes it natively. */
  readonly outputSchema?: JsonObject;
  /** Options that only this provider understands. */
  readonly options?: JsonObject;
  /**
   * The numbers of messages at the beginning that later prompts repeat, ascending: system message, history, turn. For the
   * provider's prompt cache. Absent: later prompts repeat none.
   */
  readonly stable?: readonly number[];
  /** A key that the prompts of one conversation share, for providers that find their cache by it. */
  readonly cacheKey?: string;
}

/** Why a model stopped talking. */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** What a model answered. */
export interface ModelResponse {
  readonly message: ChatMessage;
  /** Null where the provider did not say: the call then stays booked at its ceiling. */
  readonly usage: Usage | null;
  readonly finishReason: FinishReason;
  /** Something else was sent than was asked for: `usage` says nothing about those messages. Set by the runtime. */
  readonly rewritten?: true | undefined;
  /** The system message, where the call computed it. Set by the runtime. */
  readonly instructions?: string | undefined;
  /** The budget that allowed less output than was asked for: an answer cut short must not be acted on. */
  readonly shrunk?: "tokens" | "cost" | undefined;
  /** The reason why it was cut off, where it repeated itself: it must not be acted on. Set by the runtime. */
  readonly repeated?: string | undefined;
  readonly providerData?: Json;
}

/** How a model call is made again when its error may pass. */
export interface ModelRetry {
  /** Default 3; 0 for none. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry, doubled before each further one, 20 % more or less. Default 2,000. */
  readonly baseMs?: number | undefined;
}

/** A piece of an answer, as it comes. Shown to people, never acted on. */
export interface ModelDelta {
  readonly kind: "text" | "reasoning" | "tool-input";
  readonly text: string;
}

/** What goes along with a call. */
export interface ModelCall {
  readonly signal: AbortSignal;
  /** Told every piece as it comes. Absent: nobody watches. Must not throw. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
}

/** A language model, as a run sees it. Retries nothing by itself; fails with a `ModelError`. */
export interface Model {
  readonly id: string;
  /** Who serves it, for example `anthropic`. */
  readonly provider?: string | undefined;
  /** Absent: unknown, and refused under a cost budget unless the caller allows it. */
  readonly price?: Price | undefined;
  /** The most it can say in one call. Default 4,096. */
  readonly maxOutputTokens?: number | undefined;
  /** How many tokens fit into one call, input and output together. */
  readonly contextWindow?: number | undefined;
  /** The most tokens that one file in a prompt can be. Default: by the provider's rule, where that is known. */
  readonly maxFileTokens?: number | undefined;
  /** How it takes the schema of its answer: in the request, or in the prompt. Default: prompt. */
  readonly structuredOutput?: "native" | "prompt" | undefined;
  /** Provider options, by provider, that go with every call: their cost is reserved. Default: none. */
  readonly options?: JsonObject | undefined;
  /** Options that may be sent under a limit although their cost is not known, as `provider.option`. Default: none. */
  readonly allowOptions?: readonly string[] | undefined;
  generate(request: ModelRequest, call: ModelCall): Promise<ModelResponse>;
}
