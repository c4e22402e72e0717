import { spread } from "./fingerprint.ts";

/**
 * Returns a generator of numbers from 0 to below 1 that depend only on the seed. Predictable: for delays, not for ids.
 */
export function seededRandom(seed: string): () => number {
  let isSpread = false;
  let [a, b, c, d] = [0, 0, 0, 0];
  return () => {
    // Lazy, because most runs never use it.
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
