import { estimateTokenCount } from "tokenx";
import type { ChatMessage, ContentBlock, ToolDescription } from "#kernel";
import { joinedText } from "./block-text.ts";
import type { MeasuredInput } from "./input-bound.ts";

/** The estimate counts JSON a third too low. */
const jsonFactor = 1.5;
/** Tokens of a message beyond its text. */
const tokensPerMessage = 4;
/** Approximate tokens of a picture of common size. */
const tokensPerFile = 1_500;

/**
 * Estimates the tokens of a prompt, for display and for compaction. Not a bound, so not sufficient for a reservation.
 * Starts from the last reported count if there is one; each message is estimated once.
 */
export function estimateTokens(
  messages: readonly ChatMessage[],
  tools: readonly ToolDescription[] = [],
  { reported }: MeasuredInput = {},
): number {
  const covered = reported?.countCovered(messages) ?? 0;
  // A shorter conversation than the reported one is another one: after a compaction, for example.
  if (!reported || covered < reported.count) return total(messages) + toolTokens(tools);
  return reported.usage.input + total(messages.slice(covered));
}

function total(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += messageTokens(message);
  return tokens;
}

const estimated = new WeakMap<ChatMessage | ToolDescription, number>();

function messageTokens(message: ChatMessage): number {
  let tokens = estimated.get(message);
  if (tokens === undefined) {
    tokens = tokensPerMessage;
    for (const block of message.content) tokens += blockTokens(block);
    estimated.set(message, tokens);
  }
  return tokens;
}

function toolTokens(tools: readonly ToolDescription[]): number {
  let sum = 0;
  for (const tool of tools) {
    let tokens = estimated.get(tool);
    if (tokens === undefined) {
      tokens = jsonTokens(tool);
      estimated.set(tool, tokens);
    }
    sum += tokens;
  }
  return sum;
}

function blockTokens(block: ContentBlock): number {
  switch (block.type) {
    case "text":
    case "reasoning":
      return estimateTokenCount(block.text);
    case "data":
      return jsonTokens(block.data);
    case "tool-call":
      return estimateTokenCount(block.name) + jsonTokens(block.input);
    case "tool-result": {
      const files = block.content.filter(({ type }) => type === "file").length;
      return Math.ceil(jsonFactor * estimateTokenCount(joinedText(block.content))) + files * tokensPerFile;
    }
    case "file":
      return tokensPerFile;
    case "unknown":
      return 0;
  }
}

function jsonTokens(value: unknown): number {
  return Math.ceil(jsonFactor * estimateTokenCount(JSON.stringify(value) ?? ""));
}
