import { textInput, tool } from "#agents";
import type { Tool } from "#kernel";
import type { Folder } from "./read-folder.ts";
import { readBody } from "./skills.ts";

/** Creates the tool by which a model reads a skill. The owner of the folder wrote its text, so it is trusted. */
export function skillTool(folder: Folder): Tool {
  return tool({
    name: "skill",
    description: "Reads a skill: instructions for a kind of work, by the name in the list of skills.",
    input: textInput({ name: { description: "The name of the skill", max: 64 } }),
    risk: "safe",
    idempotent: true,
    execute: ({ name }) => readBody(folder, name),
  });
}
