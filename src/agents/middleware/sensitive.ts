/** Something that should not be seen: how it looks, and how to tell that it is really one. */
export interface SensitivePattern {
  readonly name: string;
  readonly looks: RegExp;
  /** How many characters of what looks so are one; 0: none. Default: all. */
  readonly length?: ((found: string) => number) | undefined;
}

/**
 * E-mail addresses, phone numbers, card numbers, IBANs, keys. Each takes time linear in the text, however it is made:
 * every repetition is bounded, or can begin only where none of its characters comes before.
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
  { name: "email", looks: /[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}/g },
  {
    name: "phone",
    looks:
      /(?<![\w+])(?:\+\d(?:[ ().-]{0,2}\d){7,14}|\(\d{2,5}\)[ -]?\d{2,5}(?:[ -]?\d{2,5}){1,3}|\d{3}[ .-]\d{3}[ .-]\d{4})(?!\d)/g,
  },
];

/** Luhn's sum. */
function isCard(text: string): boolean {
  let sum = 0;
  let isSecond = false;
  for (const digit of text.replaceAll(/\D/g, "").split("").toReversed()) {
    const doubled = Number(digit) * (isSecond ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
    isSecond = !isSecond;
  }
  return sum % 10 === 0;
}

/** Words in capitals may follow: without its last groups it may be one. */
function ibanLength(text: string): number {
  for (let end = text.length; end >= 15; end = text.lastIndexOf(" ", end - 1))
    if (isIban(text.slice(0, end))) return end;
  return 0;
}

/** ISO 7064: the remainder by 97 is 1. */
function isIban(text: string): boolean {
  const compact = text.replaceAll(" ", "");
  let rest = 0;
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return compact.length >= 15 && rest === 1;
}
