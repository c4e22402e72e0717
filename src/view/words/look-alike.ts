/** Alphabets with letters that are easily taken for Latin ones. */
const alphabets = ["Cyrillic", "Greek", "Armenian", "Cherokee"] as const;

const isOf = (alphabet: string): RegExp => new RegExp(`\\p{Script=${alphabet}}`, "u");
const foreign = new RegExp(alphabets.map((name) => isOf(name).source).join("|"), "u");
const latin = isOf("Latin");

/** Returns the code of a character, such as `U+200B`. */
export const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Describes the first letter of another alphabet in a word with Latin letters. Null: there is none. */
export function describeLookAlike(word: string): string | null {
  const letter = latin.test(word) ? foreign.exec(word)?.[0] : undefined;
  if (letter === undefined) return null;
  return `${letter} is ${alphabets.find((name) => isOf(name).test(letter))} ${codeOf(letter)}`;
}
