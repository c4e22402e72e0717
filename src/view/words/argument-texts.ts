import { isJsonObject, type Json } from "#kernel";
import { visible } from "./visible.ts";

/** Every argument in full, as JSON, with the names of characters that a terminal would not show. */
export function argumentTexts(given: Json): readonly string[] {
  if (given === null) return ["no arguments: there were none, or they were erased"];
  const entries = isJsonObject(given) ? Object.entries(given) : [["arguments", given] as const];
  if (entries.length === 0) return ["no arguments"];
  return entries.map(([name, value]) => `${visible(name)}: ${visible(JSON.stringify(value))}`);
}
