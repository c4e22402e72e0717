import type { Json, JsonObject } from "#kernel";

/** The wire format of a request. */
export type Wire = "openai-chat" | "openai-responses" | "anthropic-messages";

/** The languages of everything that is on the bill. */
export type BilledWire = Wire | "openai-embeddings";

/** One part of a message, in one form for all wires. */
export type ProviderPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool-call"; readonly callId: string; readonly name: string; readonly input: Json }
  | {
      readonly type: "tool-result";
      readonly callId: string;
      readonly text: string;
      readonly isError: boolean;
    }
  /** A picture, a file, or anything else the double only passes on. */
  | { readonly type: "other"; readonly raw: Json };

/** One message. Parts that a wire splits (several tool results, several items of one answer) are joined. */
export interface ProviderMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly ProviderPart[];
}

/** A tool that the model may call. */
export interface ProviderTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema, as received. */
  readonly inputSchema: Json;
}

/** A request to the fake provider, in one form for all wires. */
export interface ProviderRequest {
  readonly wire: Wire;
  readonly model: string;
  /** All system texts, joined; empty if there is none. */
  readonly system: string;
  readonly messages: readonly ProviderMessage[];
  readonly tools: readonly ProviderTool[];
  /** The JSON Schema of the answer, as received. Null if there is none. */
  readonly outputSchema: Json;
  /** Null: the request sets no limit. */
  readonly maxOutputTokens: number | null;
  readonly streamed: boolean;
  /**
   * Number of message parts before each mark of the prompt cache. 0: only system prompt and tools. Null: the provider
   * caches without marks.
   */
  readonly marks: readonly number[] | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as received, for fields not listed above. */
  readonly body: JsonObject;
}

/** Readers of {@link ProviderMessage}. */
export const ProviderMessage = {
  /** Returns the text of a message, without reasoning, calls and results. */
  text: ({ parts }: ProviderMessage): string =>
    parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
} as const;
