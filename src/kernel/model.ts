import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Price } from "./price.ts";
import type { Usage } from "./usage.ts";

/** The description of a tool in a model request. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: JsonObject;
}

/** Settings of a model call that most providers know. A provider ignores those it does not know. */
export interface ModelSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  /** Texts at which the model stops. */
  readonly stopSequences?: readonly string[] | undefined;
  /** Seed for repeatable answers, if the provider supports it. */
  readonly seed?: number | undefined;
  /** Amount of reasoning before the answer. Reasoning counts as output, inside the limit. */
  readonly reasoning?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | undefined;
}

/** The rule for tool calls of the model. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** One model call. */
export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Maximum output tokens. The budget does not cover more. */
  readonly maxOutputTokens: number;
  readonly settings?: ModelSettings;
  /** Default: auto. */
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema of the answer, for a model that takes it natively. */
  readonly outputSchema?: JsonObject;
  /** Options that only this provider understands. */
  readonly options?: JsonObject;
  /**
   * Numbers of leading messages that later prompts repeat, ascending: system message, history, turn. For the provider's
   * prompt cache. Absent: later prompts repeat none.
   */
  readonly stable?: readonly number[];
  /** A key that the prompts of one conversation share, for providers that find their cache by it. */
  readonly cacheKey?: string;
}

/** The reason why a model stopped. */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "error" | "other";

/** The response of a model. */
export interface ModelResponse {
  readonly message: ChatMessage;
  /** Null if the provider did not report it: the call then stays booked at its ceiling. */
  readonly usage: Usage | null;
  readonly finishReason: FinishReason;
  /** Set by the runtime if middleware changed the messages: `usage` then does not describe the original ones. */
  readonly rewritten?: true | undefined;
  /** The system message, if the call computed it. Set by the runtime. */
  readonly instructions?: string | undefined;
  /** The budget that allowed less output than requested. A truncated answer must not be acted on. */
  readonly shrunk?: "tokens" | "cost" | undefined;
  /** The reason why a repetitive answer was cut off. It must not be acted on. Set by the runtime. */
  readonly repeated?: string | undefined;
  readonly providerData?: Json;
}

/** Retry rules for transient errors of model calls. */
export interface ModelRetry {
  /** Default: 3; 0 for none. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry, doubled before each further one, 20 % more or less. Default: 2,000. */
  readonly baseMs?: number | undefined;
}

/** A piece of an answer, as it comes. Shown to people, never acted on. */
export interface ModelDelta {
  readonly kind: "text" | "reasoning" | "tool-input";
  readonly text: string;
}

/** Options of a model call. */
export interface ModelCall {
  readonly signal: AbortSignal;
  /** Receives every piece of the answer as it comes. Absent: no subscriber. Must not throw. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
}

/** A language model. It does not retry. It fails with a `ModelError`. */
export interface Model {
  readonly id: string;
  /** The provider that serves the model, for example `anthropic`. */
  readonly provider?: string | undefined;
  /** Absent: unknown. The model is then refused under a cost budget, unless the caller allows it. */
  readonly price?: Price | undefined;
  /** Maximum output tokens of one call. Default: 4,096. */
  readonly maxOutputTokens?: number | undefined;
  /** Maximum tokens of one call, input and output together. */
  readonly contextWindow?: number | undefined;
  /** Maximum tokens of one file in a prompt. Default: by the provider's rule, if known. */
  readonly maxFileTokens?: number | undefined;
  /** The way it gets the output schema: in the request, or in the prompt. Default: prompt. */
  readonly structuredOutput?: "native" | "prompt" | undefined;
  /** Provider options, by provider, for every call. Their cost is reserved. Default: none. */
  readonly options?: JsonObject | undefined;
  /** Options, as `provider.option`, that may be sent under a limit although their cost is unknown. Default: none. */
  readonly allowOptions?: readonly string[] | undefined;
  generate(request: ModelRequest, call: ModelCall): Promise<ModelResponse>;
}
