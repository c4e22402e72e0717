import type { ChatMessage, ContentBlock, FileBlock, ToolDescription } from "#kernel";
import { deepFreeze } from "#base";
import { blockText, joinedText } from "./block-text.ts";
import { fileTokens, type FileReader } from "./file-tokens.ts";
import type { ReportedPrompt } from "./reported-prompt.ts";
import { wireText } from "./wire-field.ts";

/** Tokens a provider may add around a message, a call or a result. */
const tokensAround = 16;
/** Tokens a provider may add to describe tools in general. Up to 530 are documented. */
const toolPreamble = 768;

/** From this many reported messages on, a conversation is not measured again. */
const longConversation = 256;

/** The measurement of the previous call. */
export interface MeasuredInput {
  readonly reported?: ReportedPrompt | undefined;
  /** The model that reads the prompt. Default: unknown, and files have no bound. */
  readonly reader?: FileReader | undefined;
}

/**
 * Returns an upper bound of a prompt's tokens: no tokenizer produces more tokens than UTF-8 bytes. Messages counted by
 * the provider before use its count; all others their bytes, each measured once. Files with an unknown count are
 * bounded by the context window, because no provider reads a longer prompt. `Infinity` if that is unknown too. Provider
 * options are counted separately.
 */
export function inputBound(
  messages: readonly ChatMessage[],
  tools: readonly ToolDescription[] = [],
  measured: MeasuredInput = {},
): number {
  const bound = sumBound(messages, tools, measured);
  return Number.isFinite(bound) ? bound : (measured.reader?.contextWindow ?? Infinity);
}

function sumBound(
  messages: readonly ChatMessage[],
  tools: readonly ToolDescription[],
  { reported, reader }: MeasuredInput,
): number {
  const preamble = tools.length > 0 ? toolPreamble : 0;
  const boundAll = (): number =>
    preamble + sumSizes(tools, toolBytes) + sumMessageTokens(messages, 0, reader);
  if (!reported) return boundAll();
  const covered = reported.countCovered(messages);
  const seen = new Set(reported.tools);
  const newTools = tools.filter((tool) => !seen.has(tool));
  const answer = messages[covered];
  const continued =
    reported.usage.input +
    (reported.tools.length > 0 ? 0 : preamble) +
    sumSizes(newTools, toolBytes) +
    sumMessageTokens(messages, covered, reader) +
    // Thinking is sent back in full, while the stored message may hold only a summary.
    (answer && hasReasoning(answer) ? reported.usage.output : 0);
  // Both are bounds. A long conversation is not added up again for every call of it.
  return covered > longConversation ? continued : Math.min(continued, boundAll());
}

/** Returns the tokens of the messages from a position on. */
function sumMessageTokens(
  messages: readonly ChatMessage[],
  from: number,
  reader: FileReader | undefined,
): number {
  let total = 0;
  // A loop without calls, because it runs over the whole conversation for every model call.
  for (let index = from; index < messages.length; index++) {
    const message = messages[index];
    if (!message) continue;
    const { bytes, files } = measuredMessages.get(message) ?? measure(message);
    total += files.length === 0 ? bytes : bytes + sumSizes(files, (file) => fileTokens(file, reader));
  }
  return total;
}

/** Whether a part of the prompt asks the provider to write it to its cache. */
export function writesCache(messages: readonly ChatMessage[]): boolean {
  for (const message of messages)
    if ((measuredMessages.get(message) ?? measure(message)).writesCache) return true;
  return false;
}

/** A message without its files, and the files. */
interface MeasuredMessage {
  readonly bytes: number;
  readonly files: readonly FileBlock[];
  readonly writesCache: boolean;
}

const measuredMessages = new WeakMap<ChatMessage, MeasuredMessage>();
const measuredTools = new WeakMap<ToolDescription, number>();

/** Measures a message, once. Freezes it with everything in it: a measured prompt must not change. */
function measure(message: ChatMessage): MeasuredMessage {
  deepFreeze(message);
  const { content } = message;
  const fresh = {
    bytes: tokensAround + sumSizes(content, blockBytes),
    files: content
      .flatMap((block) => (block.type === "tool-result" ? block.content : [block]))
      .filter(isFile),
    writesCache: content.some(asksForCache),
  };
  measuredMessages.set(message, fresh);
  return fresh;
}

function toolBytes(tool: ToolDescription): number {
  let bytes = measuredTools.get(tool);
  if (bytes === undefined) {
    deepFreeze(tool);
    bytes = tokensAround + byteLength(JSON.stringify(tool));
    measuredTools.set(tool, bytes);
  }
  return bytes;
}

function isFile(block: ContentBlock): block is FileBlock {
  return block.type === "file";
}

function asksForCache(block: ContentBlock): boolean {
  const data = "providerData" in block ? block.providerData : undefined;
  return data !== undefined && /"cache(?:Control|Point)":/.test(JSON.stringify(data));
}

function blockBytes(block: ContentBlock): number {
  const along = "providerData" in block ? jsonBytes(block.providerData) : 0;
  switch (block.type) {
    case "text":
    case "data":
      return byteLength(blockText(block) ?? "") + along;
    case "reasoning":
      return byteLength(block.text) + along;
    case "tool-call":
      return (
        tokensAround + byteLength(block.callId) + byteLength(block.name) + jsonBytes(block.input) + along
      );
    case "tool-result": {
      const files = sumSizes(block.content.filter(isFile), fileBytes);
      // Some providers encode the text as JSON a second time.
      const words = jsonBytes(joinedText(block.content));
      return tokensAround + byteLength(block.callId) + byteLength(block.name) + words + files;
    }
    case "file":
      return fileBytes(block);
    case "unknown":
      return 0;
  }
}

function hasReasoning(message: ChatMessage): boolean {
  return message.content.some(({ type }) => type === "reasoning");
}

/**
 * Returns the bytes of a file's fields apart from its content. A URL is not read as text, but counting it is harmless.
 */
function fileBytes({ mediaType, name = "", source }: FileBlock): number {
  const address = wireText(source, "url");
  return tokensAround + byteLength(mediaType) + byteLength(name) + byteLength(address);
}

function sumSizes<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += sizeOf(item);
  return total;
}

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value) ?? "");
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
