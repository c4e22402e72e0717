import type { ChatMessage, ToolDescription, Usage } from "#kernel";

/** A prompt whose size a provider has told: the last call of the same conversation with the same model. */
export class ReportedPrompt {
  readonly usage: Usage;
  readonly tools: readonly ToolDescription[];
  /** How many messages it had. */
  readonly count: number;
  /** Those messages, and perhaps more: prompts of a conversation that only grows share one list. */
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

  /** The next prompt of the same conversation, perhaps. Where that has only grown, nothing is copied. */
  next(messages: readonly ChatMessage[], tools: readonly ToolDescription[], usage: Usage): ReportedPrompt {
    const own = this.#messages;
    const hasGrown = own.length === this.count && this.covered(messages) === this.count;
    if (!hasGrown) return ReportedPrompt.of(messages, tools, usage);
    own.push(...messages.slice(this.count));
    return new ReportedPrompt(own, tools, usage);
  }

  /** How many messages of a conversation were, unchanged, at the beginning of this prompt. */
  covered(messages: readonly ChatMessage[]): number {
    const longest = Math.min(messages.length, this.count);
    let count = 0;
    while (count < longest && messages[count] === this.#messages[count]) count++;
    return count;
  }
}
