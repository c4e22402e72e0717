import { cleanLines } from "#view";

const segmenter = new Intl.Segmenter();
const wide =
  /\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]/u;
/** The characters we draw with and most common text: one column each. */
const narrow =
  /^[\x20-\x7e\u00A0-\u02FF\u0370-\u0482\u2010-\u2027\u2030-\u205E\u2190-\u2199\u2200-\u22FF\u2500-\u25FC\u2713\u2717\u276F]*$/;

/** Returns the number of columns of a clean text. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** Cuts a clean text to at most `width` columns; an ellipsis marks the cut. */
export function cutToWidth(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 0) return "";
  if (narrow.test(text)) return `${text.slice(0, width - 1)}…`;
  let kept = "";
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Exactly `width` columns of a clean text. */
export function fit(text: string, width: number, side: "left" | "right" = "left"): string {
  const short = cutToWidth(text, width);
  const space = " ".repeat(Math.max(0, width - widthOf(short)));
  return side === "left" ? short + space : space + short;
}

/** Wraps text into lines of at most `width` columns; a longer word has its own line. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Returns the last row that a streamed text fills on a screen of that width. */
export function lastRow(text: string, width: number): string {
  const line = cleanLines(text.slice(text.lastIndexOf("\n") + 1))[0] ?? "";
  const row = wrap(line, width).at(-1) ?? "";
  if (widthOf(row) <= width) return row;
  let [kept, used] = ["", 0];
  for (const { segment } of segmenter.segment(row)) {
    const wider = used + widthOf(segment);
    [kept, used] = wider > width ? [segment, widthOf(segment)] : [kept + segment, wider];
  }
  return kept;
}
