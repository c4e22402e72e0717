import { styleText } from "node:util";
import type { Tone } from "#view";

/** Gives a text its tone. */
export type Paint = (tone: Tone, text: string) => string;

const styles = {
  strong: "bold",
  faint: "dim",
  good: "green",
  busy: "cyan",
  waiting: "yellow",
  bad: "red",
} as const;

/** Text without styles. */
export const plainPaint: Paint = (_tone, text) => text;

/** Text with colours, for terminals. */
const colourPaint: Paint = (tone, text) =>
  tone === "plain" || text === "" ? text : styleText(styles[tone], text, { validateStream: false });

/** Colours on a terminal that has them, unless NO_COLOR is set; FORCE_COLOR has its way. */
export function paintFor(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const { NO_COLOR: no, FORCE_COLOR: force, TERM: term } = environment;
  if (no !== undefined && no !== "") return plainPaint;
  if (force !== undefined && force !== "" && force !== "0") return colourPaint;
  return isTerminal && term !== "dumb" && force !== "0" ? colourPaint : plainPaint;
}
