import { isJsonObject, Json } from "./json.ts";

/** Words. */
interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** What its provider needs to see again. */
  readonly providerData?: Json | undefined;
}

/** A model's thinking, with whatever its provider needs to see again. */
interface ReasoningBlock {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerData?: Json;
}

const reasons = [
  "not-json",
  "too-large",
  "too-deep",
  "too-many-keys",
  "poisoned-key",
  "duplicate-key",
  "broken-text",
  "inexact-number",
] as const;

/** Why arguments are not acted on. */
export type MalformedReason = (typeof reasons)[number];

/** Readers of {@link MalformedReason}. */
export const MalformedReason = {
  is: (value: unknown): value is MalformedReason => reasons.some((reason) => reason === value),
} as const;

/** A model asks for a tool. */
export interface ToolCallBlock {
  readonly type: "tool-call";
  readonly callId: string;
  readonly name: string;
  readonly input: Json;
  /** The beginning of arguments that were not clear JSON: such a call is answered with an error, never made. */
  readonly malformedInput?: string | undefined;
  /** What is wrong with them. Default: they are not JSON. */
  readonly malformedBecause?: MalformedReason | undefined;
  /** What its provider needs to see again. */
  readonly providerData?: Json | undefined;
}

/** What a tool answered. */
export interface ToolResultBlock {
  readonly type: "tool-result";
  readonly callId: string;
  readonly name: string;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
}

/** The name and size of a file's bytes in the content port of its tree. */
export interface ContentSource {
  readonly content: string;
  readonly bytes: number;
}

/** Readers of {@link ContentSource}. */
export const ContentSource = {
  is: (source: unknown): source is ContentSource =>
    typeof source === "object" && source !== null && "content" in source && "bytes" in source,
} as const;

/** An image, a document, a sound: by address, inline as base64, or by name in the content port. */
export interface FileBlock {
  readonly type: "file";
  readonly mediaType: string;
  readonly source: { readonly url: string } | { readonly base64: string } | ContentSource;
  readonly name?: string;
}

/** Structured data between agents. */
export interface DataBlock {
  readonly type: "data";
  readonly data: Json;
}

/** A block written by a newer version, kept as it came. */
interface UnknownBlock {
  readonly type: "unknown";
  readonly raw: Json;
}

/** One piece of a message. */
export type ContentBlock =
  | TextBlock
  | ReasoningBlock
  | ToolCallBlock
  | ToolResultBlock
  | FileBlock
  | DataBlock
  | UnknownBlock;

/** Who speaks. */
export type Role = "system" | "user" | "assistant" | "tool";

/** One message of a conversation with a model. */
export interface ChatMessage {
  readonly role: Role;
  readonly content: readonly ContentBlock[];
}

const known: ReadonlySet<string> = new Set([
  "text",
  "reasoning",
  "tool-call",
  "tool-result",
  "file",
  "data",
  "unknown",
] satisfies readonly ContentBlock["type"][]);

/** Constructors and readers of {@link ContentBlock}. */
export const ContentBlock = {
  text: (text: string): TextBlock => ({ type: "text", text }),
  /** A block that came back from storage: one of a type we do not know is kept whole. */
  decode: (raw: Json): ContentBlock => {
    const type = isJsonObject(raw) ? raw["type"] : undefined;
    return typeof type === "string" && known.has(type) ? Json.as(raw) : { type: "unknown", raw };
  },
  /** The form to store: an unknown block goes back exactly as it came. */
  encode: (block: ContentBlock): Json => (block.type === "unknown" ? block.raw : Json.of(block)),
} as const;

/** Constructors and readers of {@link ChatMessage}. */
export const ChatMessage = {
  system: (text: string): ChatMessage => ({ role: "system", content: [ContentBlock.text(text)] }),
  user: (text: string): ChatMessage => ({ role: "user", content: [ContentBlock.text(text)] }),
  assistant: (text: string): ChatMessage => ({ role: "assistant", content: [ContentBlock.text(text)] }),
  /** The words of a message, without reasoning. */
  text: (message: ChatMessage): string =>
    message.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
} as const;
