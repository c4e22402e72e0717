import { createHash } from "node:crypto";
import type { ChatMessage, Usage } from "#kernel";
import { LruMap } from "#base";
import { estimateTokens, inputBound } from "#models";
import type { WirePrompt } from "./wire-prompt.ts";

const maxReported = 1_000;

/** Sizes of prompts. Remembers token counts of providers, not content. */
export class PromptSizes {
  readonly #reported = new LruMap<string, Usage>({ max: maxReported });

  /**
   * Returns an upper bound of a prompt's tokens: the provider's count for its known prefix, and the bytes of the rest.
   * Null if there is no bound.
   */
  bound(prompt: WirePrompt): number | null {
    if (!isBounded(prompt)) return null;
    const { messages, tools } = prompt;
    const whole = inputBound(messages, tools, { reader: prompt.model });
    const marks = marksOf(prompt);
    const covered = marks.findLastIndex((mark) => this.#reported.has(mark));
    const before = this.#reported.get(marks[covered] ?? "");
    if (!before) return whole;
    const rest = messages.slice(covered + 1);
    // Thinking is sent back in full, while the prompt may hold only a summary.
    const thought = rest.some(hasReasoning) ? before.output : 0;
    const continued = before.input + inputBound(rest, [], { reader: prompt.model }) + thought;
    return messages.some(hasReasoning) ? continued : Math.min(continued, whole);
  }

  /** About how long it is, where there is no bound. */
  guess({ messages, tools }: WirePrompt): number {
    return estimateTokens(messages, tools);
  }

  /** Records the token count of a provider. */
  report(prompt: WirePrompt, usage: Usage): void {
    const mark = marksOf(prompt).at(-1);
    // The bytes of a file are not part of the mark: another picture would pass for this one.
    if (mark === undefined || !isBounded(prompt) || prompt.messages.some(hasFile)) return;
    this.#reported.set(mark, usage);
  }
}

function isBounded({ model, messages, isOpenEnded }: WirePrompt): boolean {
  return !isOpenEnded && inputBound(messages, [], { reader: model }) !== Infinity;
}

/** A digest of everything up to and including each message. */
function marksOf({ setting, messages, tools }: WirePrompt): readonly string[] {
  const hash = createHash("sha256").update(JSON.stringify([setting, tools]));
  return messages.map((message) => hash.update(JSON.stringify(message)).copy().digest("base64"));
}

function hasFile({ content }: ChatMessage): boolean {
  return content.some(({ type }) => type === "file");
}

function hasReasoning({ content }: ChatMessage): boolean {
  return content.some(({ type }) => type === "reasoning");
}
