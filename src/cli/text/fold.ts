import { widthOf, wrap } from "./width.ts";

/** Splits text into lines of `width` columns. Nothing is left out. */
export function fold(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let [line, used] = ["", 0];
  for (const character of text) {
    const columns = widthOf(character);
    if (used + columns > width && line !== "") {
      lines.push(line);
      [line, used] = ["", 0];
    }
    [line, used] = [line + character, used + columns];
  }
  return [...lines, line];
}

/** Splits text into lines of at most `width` columns, between words if possible. No word is left out. */
export const foldWords = (text: string, width: number): readonly string[] =>
  wrap(text, width).flatMap((line) => fold(line, width));
