/** Only a text with one of these can have a number that changes: most texts are not looked at further. */
const suspicious = /\d{16}|[eE]\+?\d{3}/u;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;
const integer = /^-?\d+$/u;

/**
 * Returns whether a JSON text has a number that is not the same after a round trip: one beyond the range of numbers, which
 * would become null, or an integer with more digits than a number holds. The text must be valid JSON.
 */
export function hasInexactNumber(text: string): boolean {
  if (!suspicious.test(text)) return false;
  for (const [token] of text.matchAll(tokens)) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    if (!Number.isFinite(value) || (integer.test(token) && !Number.isSafeInteger(value))) return true;
  }
  return false;
}
