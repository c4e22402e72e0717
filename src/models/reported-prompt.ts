import type { ChatMessage, ToolDescription, Usage } from "#kernel";

/** A prompt whose size a provider has told: the last call of the same conversation with the same model. */
export interface ReportedPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  readonly usage: Usage;
}

/** Constructors and readers of {@link ReportedPrompt}. */
export const ReportedPrompt = {
  /** Keeps its own copy of the lists: the conversation grows on. */
  of: (messages: readonly ChatMessage[], tools: readonly ToolDescription[], usage: Usage): ReportedPrompt =>
    Object.freeze({ messages: messages.slice(), tools: tools.slice(), usage }),
  /** How many messages of a conversation were, unchanged, at its beginning in the reported prompt. */
  covered: (reported: ReportedPrompt, messages: readonly ChatMessage[]): number => {
    const longest = Math.min(messages.length, reported.messages.length);
    let count = 0;
    while (count < longest && messages[count] === reported.messages[count]) count++;
    return count;
  },
} as const;
