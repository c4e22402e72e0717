/** Numbers from 0 to below 1 that depend on the seed alone: the same on every replay. */
export function seededRandom(seed: string): () => number {
  let [a, b, c, d] = spread(seed);
  return () => {
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

/** A short fingerprint: tells two texts apart, proves nothing. */
export function fingerprint(text: string): string {
  const [a, b] = spread(text);
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

function spread(text: string): [number, number, number, number] {
  let [a, b, c, d] = [1_779_033_703, 3_144_134_277, 1_013_904_242, 2_773_480_762];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = b ^ Math.imul(a ^ code, 597_399_067);
    b = c ^ Math.imul(b ^ code, 2_869_860_233);
    c = d ^ Math.imul(c ^ code, 951_274_213);
    d = a ^ Math.imul(d ^ code, 2_716_044_179);
  }
  return [a | 0, b | 0, c | 0, d | 0];
}
