import type { JsonObject } from "#kernel";

/** A chunk of an AI SDK UI message stream. */
export type UiChunk = JsonObject & { readonly type: string };

/** Kinds of text that a model streams. */
type Kind = "text" | "reasoning";

/** The steps of a UI message and their text. */
export class UiSteps {
  /** Text of the step so far. */
  #text = "";
  #hasTools = false;
  #isAnswered = false;
  #isIn = false;
  #open: { readonly kind: Kind; readonly id: string } | null = null;
  #parts = 0;

  /** Begins a step for a model call. A step whose call failed is reused. */
  begin(): readonly UiChunk[] {
    return this.#hasTools || this.#isAnswered ? this.#startNext() : this.#restart();
  }

  /** Ends a model call and keeps its text. */
  endCall(): void {
    this.#isAnswered = true;
  }

  /** Marks that the step has parts other than text. */
  tool(): readonly UiChunk[] {
    const entered = this.#isIn ? [] : this.#startNext();
    this.#hasTools = true;
    return entered;
  }

  say(kind: Kind, text: string): readonly UiChunk[] {
    if (text === "") return [];
    const opened = this.#open?.kind === kind ? [] : this.#openPart(kind);
    if (kind === "text") this.#text += text;
    return [...opened, { type: `${kind}-delta`, id: this.#open?.id ?? "", delta: text }];
  }

  /** Completes the shown text to the answer. Text that differs from the answer is taken back. */
  conclude(answer: string): readonly UiChunk[] {
    if (this.#text === answer) return this.close();
    const goesOn = this.#open?.kind === "text" && answer.startsWith(this.#text);
    const before = goesOn ? [] : this.#hasTools ? this.#startNext() : this.#restart();
    return [...before, ...this.say("text", answer.slice(this.#text.length)), ...this.close()];
  }

  /** Ends the part that is open. */
  close(): readonly UiChunk[] {
    if (!this.#open) return [];
    const { kind, id } = this.#open;
    this.#open = null;
    return [{ type: `${kind}-end`, id }];
  }

  /** Ends the step. */
  leave(): readonly UiChunk[] {
    const closed = this.close();
    const left = this.#isIn ? [{ type: "finish-step" }] : [];
    this.#isIn = false;
    return [...closed, ...left];
  }

  #startNext(): readonly UiChunk[] {
    const left = this.leave();
    this.#isIn = true;
    this.#text = "";
    this.#hasTools = false;
    this.#isAnswered = false;
    return [...left, { type: "start-step" }];
  }

  #restart(): readonly UiChunk[] {
    if (!this.#isIn) return this.#startNext();
    const closed = this.close();
    const isEmpty = this.#parts === 0 || this.#text === "";
    this.#text = "";
    return isEmpty ? closed : [...closed, { type: "reset-step" }];
  }

  #openPart(kind: Kind): readonly UiChunk[] {
    const entered = this.#isIn ? this.close() : this.#startNext();
    this.#parts += 1;
    this.#open = { kind, id: `${kind}-${this.#parts}` };
    return [...entered, { type: `${kind}-start`, id: this.#open.id }];
  }
}
