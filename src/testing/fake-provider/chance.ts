import { createHash } from "node:crypto";

/** Pseudo-random numbers derived from a seed. */
export interface Chance {
  /** Returns a number >= 0 and < 1. */
  fraction(): number;
  /** A whole number from `minimum` to `maximum`, both included. */
  integer(minimum: number, maximum: number): number;
  /** Letters and digits, for ids. */
  word(length: number): string;
}

const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789";

/** A short name for a text, the same on every machine. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A source of numbers for one seed (mulberry32). */
export function chance(seed: string): Chance {
  let state = Number.parseInt(digest(seed).slice(0, 8), 16);
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (minimum: number, maximum: number): number =>
    minimum + Math.floor(fraction() * (maximum - minimum + 1));
  const word = (length: number): string =>
    Array.from({ length }, () => alphabet[integer(0, alphabet.length - 1)]).join("");
  return { fraction, integer, word };
}
