import { RepeatedText } from "#agents";
import {
  ContentBlock,
  type ChatMessage,
  type LlmOptions,
  type ModelCall,
  type ModelDelta,
  type ModelResponse,
} from "#kernel";

/**
 * Watches one answer for repetition, and cuts it off. A streamed answer is cut while it arrives. An answer that arrives
 * whole is cut afterwards, at the same position. So streaming changes the cost of an answer, not its content.
 */
export class AnswerWatch {
  readonly #detectors: Readonly<Record<"text" | "reasoning", RepeatedText>> | null;
  /** Aborts a streamed answer. Null: it cannot be cut while it arrives. */
  readonly #cut: AbortController | null;
  readonly #outer: AbortSignal;
  #said = "";
  #found: { readonly text: string; readonly reason: string } | null = null;
  /** Takes the pieces as they come. Undefined: no subscriber. */
  readonly #onDelta: ModelCall["onDelta"];
  /** The signal of the call, which is also aborted when the answer is cut off. */
  readonly signal: AbortSignal;

  constructor(limits: LlmOptions["repetition"], tell: ModelCall["onDelta"], signal: AbortSignal) {
    this.#detectors = limits ? { text: new RepeatedText(limits), reasoning: new RepeatedText(limits) } : null;
    this.#outer = signal;
    this.#cut = limits && tell ? new AbortController() : null;
    this.signal = this.#cut ? AbortSignal.any([signal, this.#cut.signal]) : signal;
    this.#onDelta =
      tell &&
      ((delta) => {
        // A model may continue for a moment. Subscribers get no more of it.
        if (this.#found) return;
        this.#take(delta.kind, delta.text);
        tell(delta);
      });
  }

  /** Returns the options of the call. Its signal is created when the model asks for it. */
  toCall(limited: { readonly signal: AbortSignal }): ModelCall {
    return {
      get signal() {
        return limited.signal;
      },
      onDelta: this.#onDelta,
    };
  }

  /**
   * Waits for the answer, and returns it up to the repeated block. An answer that was cut while it arrived has no
   * usage: it stays booked at its ceiling.
   */
  async cut(answer: Promise<ModelResponse>): Promise<ModelResponse> {
    let response: ModelResponse | null = null;
    try {
      response = await answer;
    } catch (error) {
      if (!this.#found || this.#outer.aborted) throw error;
    }
    if (response && !this.#onDelta)
      for (const block of response.message.content)
        if (block.type === "text" || block.type === "reasoning") this.#take(block.type, block.text);
    if (response && !this.#found) return response;
    const { text = "", reason = "" } = this.#found ?? {};
    const content = text === "" ? [] : [ContentBlock.text(text)];
    const message: ChatMessage = { role: "assistant", content };
    return { message, usage: response?.usage ?? null, finishReason: "other", repeated: reason };
  }

  #take(kind: ModelDelta["kind"], piece: string): void {
    if (!this.#detectors || this.#found || kind === "tool-input") return;
    if (kind === "text") this.#said += piece;
    const repetition = this.#detectors[kind].take(piece);
    if (!repetition) return;
    const { keep, block, reason } = repetition;
    const text = kind === "text" ? this.#said.slice(0, endOfWord(this.#said, keep, block)) : this.#said;
    this.#found = { text, reason };
    this.#cut?.abort(new Error(reason));
  }
}

/** Returns the end of the word at a position, at most `max` characters further. */
function endOfWord(text: string, at: number, max: number): number {
  const next = text.slice(at, at + max);
  const end = next.search(/\s/);
  return at + (end < 0 ? 0 : end);
}
