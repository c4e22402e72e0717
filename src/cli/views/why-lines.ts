import type { Why } from "#view";
import { wrap } from "../text/width.ts";
import type { Screen } from "./screen.ts";

/** Formats an explanation as lines. */
export function whyLines(
  { answer, details, hints }: Why,
  { width, paint }: Pick<Screen, "width" | "paint">,
): readonly string[] {
  const indent = (text: string): readonly string[] => wrap(text, width - 2).map((line) => `  ${line}`);
  return [
    ...wrap(answer, width).map((line) => paint("strong", line)),
    ...details.flatMap(indent),
    ...hints.flatMap((hint) => paint("faint", `  → ${hint}`)),
  ];
}
