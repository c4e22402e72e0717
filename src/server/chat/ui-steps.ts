import type { JsonObject } from "#kernel";

/** A chunk of an AI SDK UI message stream. */
export type UiChunk = JsonObject & { readonly type: string };

/** What is written by a model as it comes. */
type Kind = "text" | "reasoning";

/** The steps of a UI message, and what is said in them. */
export class UiSteps {
  /** What was said in the step so far. */
  #text = "";
  #hasTools = false;
  #isAnswered = false;
  #isIn = false;
  #open: { readonly kind: Kind; readonly id: string } | null = null;
  #parts = 0;

  /** A model call begins: a step of its own, unless it takes the place of one that came to nothing. */
  begin(): readonly UiChunk[] {
    return this.#hasTools || this.#isAnswered ? this.#next() : this.#again();
  }

  /** A model call has come to its end: what was said stays. */
  answered(): void {
    this.#isAnswered = true;
  }

  /** The step has parts that are not said. */
  tool(): readonly UiChunk[] {
    const entered = this.#isIn ? [] : this.#next();
    this.#hasTools = true;
    return entered;
  }

  say(kind: Kind, text: string): readonly UiChunk[] {
    if (text === "") return [];
    const opened = this.#open?.kind === kind ? [] : this.#openPart(kind);
    if (kind === "text") this.#text += text;
    return [...opened, { type: `${kind}-delta`, id: this.#open?.id ?? "", delta: text }];
  }

  /** What was shown of the answer is completed; what turns out not to be it is taken back. */
  conclude(answer: string): readonly UiChunk[] {
    if (this.#text === answer) return this.close();
    const goesOn = this.#open?.kind === "text" && answer.startsWith(this.#text);
    const before = goesOn ? [] : this.#hasTools ? this.#next() : this.#again();
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

  #next(): readonly UiChunk[] {
    const left = this.leave();
    this.#isIn = true;
    this.#text = "";
    this.#hasTools = false;
    this.#isAnswered = false;
    return [...left, { type: "start-step" }];
  }

  #again(): readonly UiChunk[] {
    if (!this.#isIn) return this.#next();
    const closed = this.close();
    const isEmpty = this.#parts === 0 || this.#text === "";
    this.#text = "";
    return isEmpty ? closed : [...closed, { type: "reset-step" }];
  }

  #openPart(kind: Kind): readonly UiChunk[] {
    const entered = this.#isIn ? this.close() : this.#next();
    this.#parts += 1;
    this.#open = { kind, id: `${kind}-${this.#parts}` };
    return [...entered, { type: `${kind}-start`, id: this.#open.id }];
  }
}
