import type { Json, JsonObject } from "#kernel";

/** Which provider's language a request was written in. */
export type Wire = "openai-chat" | "openai-responses" | "anthropic-messages";

/** The languages of everything that is on the bill. */
export type BilledWire = Wire | "openai-embeddings";

/** One piece of a message, the same for every wire. */
export type DoublePart =
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

/** One message. What a wire splits (several tool results, several items of one answer) is one message again. */
export interface DoubleMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly DoublePart[];
}

/** A tool that the model may call. */
export interface DoubleTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema, as it came over the wire. */
  readonly inputSchema: Json;
}

/** What the double was asked, in one form for all wires. */
export interface DoubleRequest {
  readonly wire: Wire;
  readonly model: string;
  /** All system texts, joined; empty if there is none. */
  readonly system: string;
  readonly messages: readonly DoubleMessage[];
  readonly tools: readonly DoubleTool[];
  /** The JSON Schema of the answer, as it came over the wire; null if there is none. */
  readonly outputSchema: Json;
  /** Null: the request sets no limit. */
  readonly maxOutputTokens: number | null;
  readonly streamed: boolean;
  /**
   * How many parts of messages precede each mark of the prompt cache; 0: only system prompt and tools do. Null: the
   * provider caches without marks.
   */
  readonly marks: readonly number[] | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came, for what has no place above. */
  readonly body: JsonObject;
}

/** Readers of {@link DoubleMessage}. */
export const DoubleMessage = {
  /** The words of a message, without reasoning, calls and results. */
  text: ({ parts }: DoubleMessage): string =>
    parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
} as const;
