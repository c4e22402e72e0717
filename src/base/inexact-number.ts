/** Only a text that matches can have a number that changes. Most texts do not match. */
const suspicious = /\d{16}|[eE]\+?\d{3}/u;
const startsNumber = /^[-\d]$/u;
const numberHere = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/uy;
const integer = /^-?\d+$/u;

/**
 * Returns whether a JSON text has a number that a round trip changes: one out of range, which would become null, or an
 * integer with too many digits. The text must be valid JSON.
 */
export function hasInexactNumber(text: string): boolean {
  if (!suspicious.test(text)) return false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') at = findStringEnd(text, at);
    else if (startsNumber.test(character)) {
      const token = readNumber(text, at);
      if (isInexact(token)) return true;
      at += token.length - 1;
    }
  }
  return false;
}

/** Returns the position of the quote that ends the string that begins here. */
function findStringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === "\\" ? 2 : 1;
  return at;
}

function readNumber(text: string, at: number): string {
  numberHere.lastIndex = at;
  return numberHere.exec(text)?.[0] ?? text.charAt(at);
}

function isInexact(token: string): boolean {
  const value = Number(token);
  return !Number.isFinite(value) || (integer.test(token) && !Number.isSafeInteger(value));
}
