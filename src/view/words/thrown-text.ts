import type { Diagnostic } from "#kernel";
import { clean } from "./clean.ts";

/** The file, line and column where an error was thrown; empty if that is not known. */
function placeText({ frames }: Diagnostic): string {
  const [frame = ""] = frames;
  const place = /([^\s()]+:\d+:\d+)\)?$/.exec(frame)?.[1];
  return place === undefined ? "" : ` at ${clean(place.replace(/^file:\/\//, ""))}`;
}

/** An error of a program's code: which part threw what, and where. */
export function thrownText(diagnostic: Diagnostic): string {
  const { source, name, message } = diagnostic;
  return `${clean(source)} threw ${clean(name)}: ${clean(message)}${placeText(diagnostic)}`;
}
