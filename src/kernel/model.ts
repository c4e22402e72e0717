import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Price, Usage } from "./money.ts";

/** What a model is told about a tool. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly inputSchema: JsonObject;
}

/** One model call. */
export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Never more than this many tokens may come back: the money for more is not there. */
  readonly maxOutputTokens: number;
  /** What only this provider understands. */
  readonly options?: JsonObject;
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
  /** The budget that allowed less output than was asked for: an answer cut short must not be acted on. */
  readonly shrunk?: "tokens" | "cost" | undefined;
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
  generate(request: ModelRequest, call: ModelCall): Promise<ModelResponse>;
}
