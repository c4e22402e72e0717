import { isJsonObject, Json } from "./json.ts";

/** Text. */
interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** Data that the provider must get back in later calls. */
  readonly providerData?: Json | undefined;
}

/** A model's reasoning, with data that the provider must get back in later calls. */
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

/** The reason why a call's arguments are rejected. */
export type MalformedReason = (typeof reasons)[number];

/** Readers of {@link MalformedReason}. */
export const MalformedReason = {
  is: (value: unknown): value is MalformedReason => reasons.some((reason) => reason === value),
} as const;

/** A tool call that a model requests. */
export interface ToolCallBlock {
  readonly type: "tool-call";
  readonly callId: string;
  readonly name: string;
  readonly input: Json;
  /** The beginning of malformed arguments. Such a call is answered with an error and never made. */
  readonly malformedInput?: string | undefined;
  /** The problem of the arguments. Default: they are not JSON. */
  readonly malformedBecause?: MalformedReason | undefined;
  /** Data that the provider must get back in later calls. */
  readonly providerData?: Json | undefined;
}

/** The result of a tool call. */
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

/** An image, document or sound: by URL, inline as base64, or by name in the content port. */
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

/** The author of a message. */
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
  /** Decodes a block from storage. A block of an unknown type is kept whole. */
  decode: (raw: Json): ContentBlock => {
    const type = isJsonObject(raw) ? raw["type"] : undefined;
    return typeof type === "string" && known.has(type) ? Json.as(raw) : { type: "unknown", raw };
  },
  /** Encodes a block for storage. An unknown block is written back exactly as it came. */
  encode: (block: ContentBlock): Json => (block.type === "unknown" ? block.raw : Json.of(block)),
} as const;

/** Constructors and readers of {@link ChatMessage}. */
export const ChatMessage = {
  system: (text: string): ChatMessage => ({ role: "system", content: [ContentBlock.text(text)] }),
  user: (text: string): ChatMessage => ({ role: "user", content: [ContentBlock.text(text)] }),
  assistant: (text: string): ChatMessage => ({ role: "assistant", content: [ContentBlock.text(text)] }),
  /** Returns the text of a message, without reasoning. */
  text: (message: ChatMessage): string =>
    message.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
} as const;
