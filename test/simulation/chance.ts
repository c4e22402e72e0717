/** Numbers that depend on the seed alone. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must differ from the start.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** Returns a number >= 0 and < 1. */
  next(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number from 0 to below `count`. */
  pickBelow(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number from `least` to `most`. */
  pickBetween(least: number, most: number): number {
    return least + this.pickBelow(most - least + 1);
  }

  /** Returns one of several. */
  pickOne<Item>(first: Item, ...rest: readonly Item[]): Item {
    return rest[this.pickBelow(rest.length + 1) - 1] ?? first;
  }

  /** Returns a list of this length. */
  list<Item>(count: number, make: () => Item): readonly Item[] {
    return Array.from({ length: count }, make);
  }
}
