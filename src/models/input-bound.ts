import type { ChatMessage, ContentBlock, ToolDescription } from "#kernel";
import { blockText, joinedText } from "./block-text.ts";
import type { ReportedPrompt } from "./reported-prompt.ts";

/** What a provider may add around a message, a call or a result. */
const tokensAround = 16;
/** What a provider may say to a model about tools as such. Up to 530 tokens are documented. */
const toolPreamble = 768;

/** So many messages that were reported are not worth measuring again. */
const longConversation = 256;

/** What is known from the call before. */
export interface Measured {
  readonly reported?: ReportedPrompt | undefined;
}

/**
 * An upper bound of the tokens of a prompt: no tokenizer makes more tokens of a text than it has UTF-8 bytes.
 * What the provider has counted before counts as reported; all else by its bytes, each message measured once.
 * `Infinity` where there is no bound: images and files by address or inline. Not counted is what a provider adds by
 * its own options: tools it runs itself, a conversation it keeps.
 */
export function inputBound(
  messages: readonly ChatMessage[],
  tools: readonly ToolDescription[] = [],
  { reported }: Measured = {},
): number {
  const preamble = tools.length > 0 ? toolPreamble : 0;
  const whole = (): number => preamble + sum(tools, toolBytes) + sum(messages, messageBytes);
  if (!reported) return whole();
  const covered = reported.covered(messages);
  const seen = new Set(reported.tools);
  const newTools = tools.filter((tool) => !seen.has(tool));
  const answer = messages[covered];
  const continued =
    reported.usage.input +
    (reported.tools.length > 0 ? 0 : preamble) +
    sum(newTools, toolBytes) +
    sum(messages.slice(covered), messageBytes) +
    // Thinking comes back as it was thought, of which we may only hold a summary.
    (answer && thinks(answer) ? reported.usage.output : 0);
  // Both are bounds. A long conversation is not added up again for every call of it.
  return covered > longConversation ? continued : Math.min(continued, whole());
}

const measured = new WeakMap<ChatMessage | ToolDescription, number>();

function messageBytes(message: ChatMessage): number {
  return measured.get(message) ?? keep(message, tokensAround + sum(message.content, blockBytes));
}

function toolBytes(tool: ToolDescription): number {
  return measured.get(tool) ?? keep(tool, tokensAround + byteLength(JSON.stringify(tool)));
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
      if (block.content.some(({ type }) => type === "file")) return Infinity;
      // Some providers put the words into JSON once more.
      const words = jsonBytes(joinedText(block.content));
      return tokensAround + byteLength(block.callId) + byteLength(block.name) + words;
    }
    case "file":
      return Infinity;
    case "unknown":
      return 0;
  }
}

function thinks(message: ChatMessage): boolean {
  return message.content.some(({ type }) => type === "reasoning");
}

function keep(key: ChatMessage | ToolDescription, size: number): number {
  measured.set(key, size);
  return size;
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += measure(item);
  return total;
}

function jsonBytes(value: unknown): number {
  return byteLength(JSON.stringify(value) ?? "");
}

function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
