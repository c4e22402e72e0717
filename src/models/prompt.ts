import type {
  LanguageModelV3FilePart,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  isJsonObject,
  type ChatMessage,
  type ContentBlock,
  type FileBlock,
  type ToolResultBlock,
} from "#kernel";
import { blockText, joinedText } from "./block-text.ts";
import { writesCache } from "./input-bound.ts";
import { maxMarks } from "./prompt-cache.ts";

/** The ends of stable prefixes in a prompt, and the options that mark them. */
export interface CacheMarks {
  /** As `ModelRequest.stable`. */
  readonly stable: readonly number[];
  readonly mark: SharedV4ProviderOptions;
}

/** The part that differs between versions of the specification: files. */
interface Form<File, Item> {
  /** A file in a message. */
  readonly file: (block: FileBlock) => File;
  /** A file in the answer of a tool. */
  readonly item: (block: FileBlock) => Item;
}

/** A message in either version. */
type Message<File, Item> = (
  | { role: "system"; content: string }
  | { role: "user"; content: UserPart<File>[] }
  | { role: "assistant"; content: AssistantPart<File>[] }
  | { role: "tool"; content: ToolResultPart<Item>[] }
) & { providerOptions?: SharedV4ProviderOptions };

type UserPart<File> = LanguageModelV4TextPart | File;

type AssistantPart<File> = UserPart<File> | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;

interface ToolResultPart<Item> {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  providerOptions?: SharedV4ProviderOptions;
  output:
    | { type: "text" | "error-text"; value: string }
    | { type: "content"; value: ({ type: "text"; text: string } | Item)[] };
}

/** Converts messages, and marks them for the provider's cache. Without marks, or if messages bring their own: as they are. */
type Converter<Prompt> = (messages: readonly ChatMessage[], marks?: CacheMarks | null) => Prompt;

type ItemOf<Output> = Extract<Output, { type: "content" }> extends { value: (infer Item)[] } ? Item : never;

/** Messages as a V4 model takes them. */
export const promptV4: Converter<LanguageModelV4Prompt> = converter<
  LanguageModelV4FilePart,
  ItemOf<LanguageModelV4ToolResultOutput>
>({
  file: (block) => ({ type: "file", ...describeFile(block), data: dataV4(block) }),
  item: (block) => ({ type: "file", ...describeFile(block), data: dataV4(block) }),
});

/** Messages as a V3 model takes them. */
export const promptV3: Converter<LanguageModelV3Prompt> = converter<
  LanguageModelV3FilePart,
  ItemOf<LanguageModelV3ToolResultOutput>
>({
  file: (block) => ({
    type: "file",
    ...describeFile(block),
    data: "url" in block.source ? new URL(block.source.url) : base64Of(block),
  }),
  item: (block) => {
    const { source, mediaType } = block;
    const image = mediaType.startsWith("image");
    if ("url" in source) return { type: image ? "image-url" : "file-url", url: source.url };
    if (image) return { type: "image-data", mediaType, data: base64Of(block) };
    return { type: "file-data", ...describeFile(block), data: base64Of(block) };
  },
});

/**
 * Messages are immutable, and a long conversation repeats them in every call, so each is converted once. A message
 * without content is left out, because providers refuse it.
 */
function converter<File, Item>(form: Form<File, Item>): Converter<Message<File, Item>[]> {
  const done = new WeakMap<ChatMessage, Message<File, Item> | null>();
  return (messages, marks) => {
    const prompt: Message<File, Item>[] = [];
    /** The places of the messages that end a stable beginning. */
    const ends = new Set<number>();
    const stable = new Set(marks?.stable);
    for (const [index, message] of messages.entries()) {
      let converted = done.get(message);
      if (converted === undefined) {
        converted = convert(message, form);
        done.set(message, converted);
      }
      if (converted) prompt.push(converted);
      if (stable.has(index + 1)) ends.add(prompt.length - 1);
    }
    if (marks && !writesCache(messages)) placeMarks(prompt, [...ends].slice(-maxMarks), marks.mark);
    return prompt;
  };
}

/** Sets the marks. A converted message serves every call, so the marked one is a copy. */
function placeMarks<File, Item>(
  prompt: Message<File, Item>[],
  places: readonly number[],
  mark: SharedV4ProviderOptions,
): void {
  for (const place of places) {
    const message = prompt[place];
    if (message) prompt[place] = withMark(message, mark);
  }
}

/** OpenRouter would repeat the mark of a tool message at each of its results: it goes to the last one. */
function withMark<File, Item>(
  message: Message<File, Item>,
  mark: SharedV4ProviderOptions,
): Message<File, Item> {
  if (message.role !== "tool" || !("anthropic" in mark)) return { ...message, providerOptions: mark };
  const last = message.content.length - 1;
  const content = message.content.map((part, index) =>
    index === last ? { ...part, providerOptions: mark } : part,
  );
  return { ...message, content };
}

function convert<File, Item>(message: ChatMessage, form: Form<File, Item>): Message<File, Item> | null {
  const converted = withRole(message, form);
  return converted.content.length === 0 ? null : converted;
}

function withRole<File, Item>({ role, content }: ChatMessage, form: Form<File, Item>): Message<File, Item> {
  switch (role) {
    case "system":
      return { role, content: joinedText(content) };
    case "user":
      return { role, content: content.flatMap((block) => userPart(block, form.file)) };
    case "assistant":
      return { role, content: content.flatMap((block) => assistantPart(block, form.file)) };
    case "tool":
      return { role, content: content.filter(isToolResult).map((block) => toolResult(block, form.item)) };
  }
}

function userPart<File>(block: ContentBlock, file: (block: FileBlock) => File): UserPart<File>[] {
  if (block.type === "file") return [file(block)];
  const text = blockText(block);
  return text ? [{ type: "text", text, ...providerOptions(block) }] : [];
}

function assistantPart<File>(block: ContentBlock, file: (block: FileBlock) => File): AssistantPart<File>[] {
  switch (block.type) {
    case "reasoning":
      return [{ type: "reasoning", text: block.text, ...providerOptions(block) }];
    case "tool-call": {
      const { callId: toolCallId, name: toolName } = block;
      // Providers refuse arguments that are no object, and would refuse the conversation for ever after.
      const input = isJsonObject(block.input) ? block.input : {};
      return [{ type: "tool-call", toolCallId, toolName, input, ...providerOptions(block) }];
    }
    case "text":
    case "data":
    case "file":
    case "tool-result":
    case "unknown":
      return userPart(block, file);
  }
}

/** Files of a failed call are left out: only text can be marked as an error. */
function toolResult<Item>(
  { callId, name, content, isError }: ToolResultBlock,
  item: (block: FileBlock) => Item,
): ToolResultPart<Item> {
  const part = { type: "tool-result" as const, toolCallId: callId, toolName: name };
  if (isError) return { ...part, output: { type: "error-text", value: joinedText(content) } };
  if (!content.some(({ type }) => type === "file"))
    return { ...part, output: { type: "text", value: joinedText(content) } };
  const value = content.flatMap((block): ({ type: "text"; text: string } | Item)[] => {
    if (block.type === "file") return [item(block)];
    const text = blockText(block);
    return text ? [{ type: "text", text }] : [];
  });
  return { ...part, output: { type: "content", value } };
}

function describeFile({ mediaType, name }: FileBlock): { mediaType: string; filename?: string } {
  return { mediaType, ...(name !== undefined && { filename: name }) };
}

function dataV4({ source }: FileBlock): LanguageModelV4FilePart["data"] {
  if (!("url" in source)) return { type: "data", data: base64Of({ source }) };
  const url = new URL(source.url);
  return { type: "url", url, ...(url.href !== source.url && { originalUrl: source.url }) };
}

/** @throws TypeError for a file whose bytes are not read: a model step reads them before it calls a model. */
function base64Of({ source }: Pick<FileBlock, "source">): string {
  if ("base64" in source) return source.base64;
  throw new TypeError("a file of a run can only be sent by ctx.llm: its bytes are in the content port");
}

/** Returns the metadata that the provider returned with a block and expects back. */
function providerOptions(block: ContentBlock): { providerOptions?: SharedV4ProviderOptions } {
  const data = "providerData" in block ? block.providerData : undefined;
  return isProviderOptions(data) ? { providerOptions: data } : {};
}

function isProviderOptions(data: unknown): data is SharedV4ProviderOptions {
  return isJsonObject(data) && Object.values(data).every(isJsonObject);
}

function isToolResult(block: ContentBlock): block is ToolResultBlock {
  return block.type === "tool-result";
}
