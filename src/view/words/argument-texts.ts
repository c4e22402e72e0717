import { isJsonObject, type SentApproval } from "#kernel";
import { showMisleading } from "./show-misleading.ts";

/** Every argument in full, as JSON, with the names of characters that a terminal would not show, and the length of a long one. */
export function argumentTexts({
  arguments: given,
  withheld,
}: Pick<SentApproval, "arguments" | "withheld">): readonly string[] {
  if (withheld) return ["arguments not shown: the key lacks the scope content"];
  if (given === null) return ["no arguments: there were none, or they were erased"];
  const entries = isJsonObject(given) ? Object.entries(given) : [["arguments", given] as const];
  if (entries.length === 0) return ["no arguments"];
  return entries.map(([name, value]) => {
    const text = JSON.stringify(value);
    const length = text.length > shortLength ? ` (${text.length} characters)` : "";
    return `${showMisleading(name)}${length}: ${showMisleading(text)}`;
  });
}

/** Characters of an argument that need no count: its end is easily seen. */
const shortLength = 100;
