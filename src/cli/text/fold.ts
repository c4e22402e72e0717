import { widthOf } from "./width.ts";

/** A visible text on as many lines of `width` columns as it takes. Nothing is left out. */
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
