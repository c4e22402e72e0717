import { spread } from "#agents";

/** Numbers from 0 to below 1 that depend on the seed alone: the same on every replay. */
export function seededRandom(seed: string): () => number {
  let isSpread = false;
  let [a, b, c, d] = [0, 0, 0, 0];
  return () => {
    // Most runs never ask.
    if (!isSpread) [a, b, c, d] = spread(seed);
    isSpread = true;
    // sfc32: 128 bits of state, passes PractRand.
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4_294_967_296;
  };
}

/** A version 4 UUID made of such numbers. */
export function uuidFrom(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16));
  hex[12] = "4";
  hex[16] = "89ab".charAt(Math.floor(random() * 4));
  const text = hex.join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join(
    "-",
  );
}
