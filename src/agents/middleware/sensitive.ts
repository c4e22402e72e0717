/** A kind of sensitive value: its pattern, and a check of a match. */
export interface SensitivePattern {
  readonly name: string;
  readonly looks: RegExp;
  /** Returns the number of characters of a match that are really one. 0: none. Default: all. */
  readonly length?: ((found: string) => number) | undefined;
}

/**
 * Patterns of e-mail addresses, phone numbers, card numbers, IBANs and keys. Each takes linear time for any text: every
 * repetition is bounded, or can begin only where none of its characters comes before.
 */
export const sensitive: readonly SensitivePattern[] = [
  {
    name: "key",
    looks:
      /(?<![\w-])(?:sk-[\w-]{20,}|gh[opsu]_\w{30,}|github_pat_\w{30,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}(?!\w)|AIza[\w-]{35}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})/g,
  },
  {
    name: "iban",
    looks:
      /(?<![A-Z0-9])[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?![A-Z0-9])/g,
    length: ibanLength,
  },
  {
    name: "card",
    looks: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g,
    length: (found) => (isCard(found) ? found.length : 0),
  },
  // It begins only at the first character that an address may have, so a text without "@" is read once. Adjacent
  // addresses without a space are therefore one match.
  {
    name: "email",
    looks:
      /(?<![\w.%+-])[\w.%+-]+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?:[\w.%+-]+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24})*/g,
  },
  {
    name: "phone",
    looks:
      /(?<![\w+])(?:\+\d(?:[ ().-]{0,2}\d){7,14}|\(\d{2,5}\)[ -]?\d{2,5}(?:[ -]?\d{2,5}){1,3}|\d{3}[ .-]\d{3}[ .-]\d{4})(?!\d)/g,
  },
];

const zero = 48;
const nine = 57;
const capitalA = 65;

const isDigit = (code: number): boolean => code >= zero && code <= nine;

/** Checks the Luhn sum. Separators do not count. */
function isCard(text: string): boolean {
  let sum = 0;
  let isSecond = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const code = text.charCodeAt(at);
    if (!isDigit(code)) continue;
    const doubled = (code - zero) * (isSecond ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
    isSecond = !isSecond;
  }
  return sum % 10 === 0;
}

/**
 * Returns the length of the IBAN in a match. Capitalized words may follow it, so it may end before the last groups. ISO
 * 7064: with the first four characters moved to the end, the remainder by 97 is 1. It is computed once from left to
 * right, and completed at the end of each group.
 */
function ibanLength(text: string): number {
  let length = 0;
  let rest = 0;
  let characters = 4;
  for (let at = 4; at <= text.length; at++) {
    const isEnd = at === text.length || text[at] === " ";
    if (isEnd && characters >= 15 && withPrefix(rest, text) === 1) length = at;
    if (isEnd) continue;
    rest = withCharacter(rest, text.charCodeAt(at));
    characters += 1;
  }
  return length;
}

function withPrefix(rest: number, text: string): number {
  let all = rest;
  for (let at = 0; at < 4; at++) all = withCharacter(all, text.charCodeAt(at));
  return all;
}

/** Appends a character to the remainder. A letter counts as two digits: A is 10, Z is 35. */
const withCharacter = (rest: number, code: number): number =>
  isDigit(code) ? (rest * 10 + code - zero) % 97 : (rest * 100 + code - capitalA + 10) % 97;
