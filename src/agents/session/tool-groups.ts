import { type ChatMessage, ContentBlock, type ToolCallBlock, type ToolResultBlock } from "#kernel";

/** Messages that are sent together or not at all: an assistant's calls with their results, or a single message. */
export type MessageGroup = readonly ChatMessage[];

/**
 * Puts messages, given newest first, into groups that a provider accepts.
 *
 * A result belongs to a call if only results are between them. A call without a result gets an error result that states
 * it: the model knows that the outcome is unknown, and no provider refuses the prompt. A result without its call is
 * left out. So are unknown blocks, and messages without content. System messages are left out: the system prompt is no
 * part of a conversation.
 */
export class ToolGroups {
  /** Results, newest first, whose calls are still to come. */
  #results: ChatMessage[] = [];

  /** Adds a message. Returns the group that it completes. Null while there is none. */
  add(message: ChatMessage): MessageGroup | null {
    if (message.role === "tool") {
      this.#results.push(message);
      return null;
    }
    const results = this.#results.toReversed();
    this.#results = [];
    const said = message.content.filter(({ type }) => isAllowedBlock(message.role, type));
    if (message.role === "system" || said.length === 0) return null;
    const spoken = said.length === message.content.length ? message : { ...message, content: said };
    const calls = said.filter((block): block is ToolCallBlock => block.type === "tool-call");
    return calls.length === 0 ? [spoken] : [spoken, ...answers(calls, results)];
  }
}

function isAllowedBlock(role: ChatMessage["role"], type: ContentBlock["type"]): boolean {
  if (type === "tool-call") return role === "assistant";
  return type !== "tool-result" && type !== "unknown";
}

function answers(calls: readonly ToolCallBlock[], results: readonly ChatMessage[]): readonly ChatMessage[] {
  const open = new Map(calls.map((call) => [call.callId, call]));
  const answered = results
    .map((message) => {
      const content = message.content.filter(
        (block) => block.type === "tool-result" && open.delete(block.callId),
      );
      return content.length === message.content.length ? message : { ...message, content };
    })
    .filter(({ content }) => content.length > 0);
  const missing = [...open.values()].map(noResult);
  if (missing.length === 0) return answered;
  const last = answered.pop();
  return [...answered, { role: "tool", content: [...(last?.content ?? []), ...missing] }];
}

function noResult({ callId, name }: ToolCallBlock): ToolResultBlock {
  const content = [
    ContentBlock.text("No result of this call was recorded: it may or may not have been made."),
  ];
  return { type: "tool-result", callId, name, content, isError: true };
}
