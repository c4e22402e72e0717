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

/** Where the versions of the specification differ: files. */
interface Form<File, Item> {
  /** A file in a message. */
  readonly file: (block: FileBlock) => File;
  /** A file in the answer of a tool. */
  readonly item: (block: FileBlock) => Item;
}

/** A message in either version. */
type Message<File, Item> =
  | { role: "system"; content: string }
  | { role: "user"; content: UserPart<File>[] }
  | { role: "assistant"; content: AssistantPart<File>[] }
  | { role: "tool"; content: ToolResultPart<Item>[] };

type UserPart<File> = LanguageModelV4TextPart | File;

type AssistantPart<File> = UserPart<File> | LanguageModelV4ReasoningPart | LanguageModelV4ToolCallPart;

interface ToolResultPart<Item> {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output:
    | { type: "text" | "error-text"; value: string }
    | { type: "content"; value: ({ type: "text"; text: string } | Item)[] };
}

type ItemOf<Output> = Extract<Output, { type: "content" }> extends { value: (infer Item)[] } ? Item : never;

/** Messages as a V4 model takes them. */
export const promptV4: (messages: readonly ChatMessage[]) => LanguageModelV4Prompt = converter<
  LanguageModelV4FilePart,
  ItemOf<LanguageModelV4ToolResultOutput>
>({
  file: (block) => ({ type: "file", ...describeFile(block), data: dataV4(block) }),
  item: (block) => ({ type: "file", ...describeFile(block), data: dataV4(block) }),
});

/** Messages as a V3 model takes them. */
export const promptV3: (messages: readonly ChatMessage[]) => LanguageModelV3Prompt = converter<
  LanguageModelV3FilePart,
  ItemOf<LanguageModelV3ToolResultOutput>
>({
  file: (block) => ({
    type: "file",
    ...describeFile(block),
    data: "url" in block.source ? new URL(block.source.url) : block.source.base64,
  }),
  item: (block) => {
    const { source, mediaType } = block;
    const image = mediaType.startsWith("image");
    if ("url" in source) return { type: image ? "image-url" : "file-url", url: source.url };
    if (image) return { type: "image-data", mediaType, data: source.base64 };
    return { type: "file-data", ...describeFile(block), data: source.base64 };
  },
});

/**
 * A message never changes once written, and a long conversation repeats them all at every call: each is converted
 * once. One that has nothing to say to a provider is left out, because an empty one would be refused.
 */
function converter<File, Item>(
  form: Form<File, Item>,
): (messages: readonly ChatMessage[]) => Message<File, Item>[] {
  const done = new WeakMap<ChatMessage, Message<File, Item> | null>();
  return (messages) => {
    const prompt: Message<File, Item>[] = [];
    for (const message of messages) {
      let converted = done.get(message);
      if (converted === undefined) {
        converted = convert(message, form);
        done.set(message, converted);
      }
      if (converted) prompt.push(converted);
    }
    return prompt;
  };
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

/** Files of a failed call are left out: only words can be marked as an error. */
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
  if ("base64" in source) return { type: "data", data: source.base64 };
  const url = new URL(source.url);
  return { type: "url", url, ...(url.href !== source.url && { originalUrl: source.url }) };
}

/** What the provider gave along with a block, and must see again. */
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
