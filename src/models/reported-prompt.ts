import type { ChatMessage, ToolDescription, Usage } from "#kernel";

/** A prompt with a token count reported by the provider: the last call of the conversation with this model. */
export class ReportedPrompt {
  readonly usage: Usage;
  readonly tools: readonly ToolDescription[];
  /** Number of its messages. */
  readonly count: number;
  /** Those messages, possibly followed by more: prompts of a growing conversation share one list. */
  readonly #messages: ChatMessage[];

  private constructor(messages: ChatMessage[], tools: readonly ToolDescription[], usage: Usage) {
    this.#messages = messages;
    this.count = messages.length;
    this.tools = tools.slice();
    this.usage = usage;
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages.slice(0, this.count);
  }

  /** Keeps its own list: the conversation is its owner's to change. */
  static of(
    messages: readonly ChatMessage[],
    tools: readonly ToolDescription[],
    usage: Usage,
  ): ReportedPrompt {
    return new ReportedPrompt(messages.slice(), tools, usage);
  }

  /** Returns the report for the next prompt. If the conversation has only grown, nothing is copied. */
  extend(messages: readonly ChatMessage[], tools: readonly ToolDescription[], usage: Usage): ReportedPrompt {
    const own = this.#messages;
    const hasGrown = own.length === this.count && this.countCovered(messages) === this.count;
    if (!hasGrown) return ReportedPrompt.of(messages, tools, usage);
    own.push(...messages.slice(this.count));
    return new ReportedPrompt(own, tools, usage);
  }

  /** Returns how many messages of a conversation are an unchanged prefix of this prompt. */
  countCovered(messages: readonly ChatMessage[]): number {
    const longest = Math.min(messages.length, this.count);
    let count = 0;
    while (count < longest && messages[count] === this.#messages[count]) count++;
    return count;
  }
}
