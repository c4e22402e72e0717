import type { Diagnostic } from "#kernel";
import { clean } from "./clean.ts";

/** Returns the file, line and column where an error was thrown. Empty if unknown. */
function placeText({ frames }: Diagnostic): string {
  const [frame = ""] = frames;
  const place = frame.split(/[\s()]/).findLast((part) => part !== "");
  return place === undefined || !/:\d{1,9}:\d{1,9}$/.test(place)
    ? ""
    : ` at ${clean(place.replace(/^file:\/\//, ""))}`;
}

/** An error of a program's code: which part threw what, and where. */
export function thrownText(diagnostic: Diagnostic): string {
  const { source, name, message } = diagnostic;
  return `${clean(source)} threw ${clean(name)}: ${clean(message)}${placeText(diagnostic)}`;
}
