/** Only a text that matches can have a number that changes. Most texts do not match. */
const suspicious = /\d{16}|[eE]\+?\d{3}/u;
const integer = /^\d+$/u;
/** Characters of the shortest number that a round trip changes: `1e309`. */
const shortestInexact = 5;
const quote = 34;
const backslash = 92;
/** The codes of `.`, `e`, `E`, `+` and `-`. The sign before a number changes nothing, so it is not read. */
const inNumber: ReadonlySet<number> = new Set([46, 101, 69, 43, 45]);

/**
 * Returns whether a JSON text has a number that a round trip changes: one out of range, which would become null, or an
 * integer with too many digits. The text must be valid JSON.
 */
export function hasInexactNumber(text: string): boolean {
  if (!suspicious.test(text)) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = findStringEnd(text, at);
    else if (isDigit(code)) {
      const end = findNumberEnd(text, at);
      // Most numbers are short, and creating a text of each would take most of the time.
      if (end - at >= shortestInexact && isInexact(text.slice(at, end))) return true;
      at = end - 1;
    }
  }
  return false;
}

/** Returns the position of the quote that ends the string that begins here. */
function findStringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

/** Returns the position after the number that begins here. */
function findNumberEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && (isDigit(text.charCodeAt(at)) || inNumber.has(text.charCodeAt(at)))) at += 1;
  return at;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function isInexact(token: string): boolean {
  const value = Number(token);
  return !Number.isFinite(value) || (integer.test(token) && !Number.isSafeInteger(value));
}
