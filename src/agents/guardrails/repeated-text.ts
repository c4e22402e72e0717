/** Limits for a text whose end repeats one block. */
export interface RepetitionLimits {
  /** Minimum characters of the repetitive end. */
  readonly characters: number;
  /** Minimum repetitions of the block. */
  readonly times: number;
}

/** A repetition at the end of a text. */
interface Repetition {
  /** The length of the text up to the end of the first block. The rest is repetition. */
  readonly keep: number;
  /** The length of the block. */
  readonly block: number;
  readonly reason: string;
}

/**
 * Detects repetition at the end of a growing text.
 *
 * The end of the text is checked whenever a quarter of the limit has arrived, back to twice the limit. So the work per
 * character is bounded for any length, and the sizes of the pieces do not matter.
 */
export class RepeatedText {
  readonly #limits: RepetitionLimits;
  readonly #interval: number;
  readonly #reach: number;
  /** The characters since the last check, and the earlier ones that the next check needs. */
  #tail = "";
  #length = 0;
  #found: Repetition | null = null;

  constructor(limits: RepetitionLimits) {
    this.#limits = limits;
    this.#interval = Math.max(1, Math.floor(limits.characters / 4));
    this.#reach = 2 * limits.characters;
  }

  /** Takes the next piece. Returns the repetition, once there is one. */
  take(text: string): Repetition | null {
    for (let at = 0; at < text.length && !this.#found;) {
      const missing = this.#interval - (this.#length % this.#interval);
      const piece = text.slice(at, at + missing);
      this.#tail += piece;
      this.#length += piece.length;
      at += piece.length;
      if (piece.length === missing) this.#look();
    }
    return this.#found;
  }

  #look(): void {
    this.#tail = this.#tail.slice(-this.#reach);
    const { characters, times } = this.#limits;
    const end = longestRepeat(this.#tail, times);
    if (!end || end.length < characters) return;
    const count = Math.floor(end.length / end.block);
    const keep = this.#length - end.length + end.block;
    const reason = `the answer repeated the same ${end.block} characters ${count} times`;
    this.#found = { keep, block: end.block, reason };
  }
}

/**
 * Returns the longest end of a text that repeats one block at least `times` times. Linear: the prefix function of the
 * reversed text.
 */
function longestRepeat(
  text: string,
  times: number,
): { readonly length: number; readonly block: number } | null {
  const last = text.length - 1;
  const borders = new Int32Array(text.length);
  let found: { readonly length: number; readonly block: number } | null = null;
  for (let index = 1; index <= last; index++) {
    const character = text.charCodeAt(last - index);
    let border = borders[index - 1] ?? 0;
    while (border > 0 && text.charCodeAt(last - border) !== character) border = borders[border - 1] ?? 0;
    if (text.charCodeAt(last - border) === character) border += 1;
    borders[index] = border;
    const length = index + 1;
    const block = length - border;
    if (length >= times * block) found = { length, block };
  }
  return found;
}
