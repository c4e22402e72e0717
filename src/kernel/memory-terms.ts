const maxTerms = 256;
const maxTermLength = 64;
/** Letters with their marks, and digits. */
const word = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces between words. Their words are indexed as pairs of characters. */
const unspaced = /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}]+$/u;

/**
 * Returns the terms of a text for the index of memory: folded (NFKC, lower case), letters and digits only, each once,
 * at most 256 in the order they come. A query is folded the same way.
 */
export function toTerms(text: string): readonly string[] {
  const terms = new Set<string>();
  for (const [found] of text.normalize("NFKC").toLowerCase().matchAll(word))
    for (const term of unspaced.test(found) ? pairs(found) : [found.slice(0, maxTermLength)]) {
      terms.add(term);
      if (terms.size === maxTerms) return [...terms];
    }
  return [...terms];
}

function pairs(text: string): readonly string[] {
  const characters = Array.from(text);
  if (characters.length < 3) return [text];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** Assumed number of items of an owner. A constant, so that a search need not count them. */
const assumedItems = 10_000;
const commonFrom = 1_000;

/**
 * Weighs the terms of a search by the number of items that have each: rarer terms weigh more. Terms of more than 1,000
 * items are left out if there is a rarer one: they cost the most and would not change the first results. Weights are
 * integers, so that every store computes the same sums.
 */
export function weighTerms(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const known = [...counts].filter(([, count]) => count > 0);
  const rare = known.filter(([, count]) => count <= commonFrom);
  const used = rare.length > 0 ? rare : known;
  return new Map(
    used.map(([term, count]) => [term, Math.ceil(1_000 * Math.log1p(assumedItems / count))] as const),
  );
}
