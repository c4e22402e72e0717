/** When a text repeats itself: its end is one block, over and over. */
export interface RepetitionLimits {
  /** Characters of the end, at least. */
  readonly characters: number;
  /** Times that the block comes, at least. */
  readonly times: number;
}

/** A repetition at the end of a text. */
interface Repetition {
  /** The length of the text up to the end of the first block: what follows says nothing new. */
  readonly keep: number;
  /** The characters of the block. */
  readonly block: number;
  readonly reason: string;
}

/**
 * Notices a text that repeats itself, while it grows.
 *
 * The end of the text is looked at whenever a quarter of the limit has come, and then as far back as twice the limit. So
 * the work for each character is bounded, however long the text, and it does not matter in which pieces the text comes.
 */
export class RepeatedText {
  readonly #limits: RepetitionLimits;
  readonly #interval: number;
  readonly #reach: number;
  /** The characters since the last look, and as many before it as the next one needs. */
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

/** Returns the longest end of a text that is one block at least `times` times. Linear: the prefix function of the text read backwards. */
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
