import type { SectionCall } from "#kernel";
import type { Folder } from "./read-folder.ts";
import { isSkillName, parseSkillFile, type SkillFile } from "./skill-file.ts";

/** A skill in the list that prompts show. */
export interface ListedSkill extends Pick<SkillFile, "name" | "description"> {
  /** The path of its SKILL.md. */
  readonly location: string;
}

/** Lists the skills of a folder by name. One that cannot be read is left out, and reported. */
export async function listSkills(
  folder: Folder,
  report: SectionCall["report"],
): Promise<readonly ListedSkill[]> {
  const entries = await folder.list("skills");
  const folders = entries.filter(({ isFile }) => !isFile).map(({ name }) => name);
  // A pinned skill without a folder is read too, so that it is reported as missing.
  const names = [...new Set([...folders, ...folder.pinnedNames("skills")])].toSorted();
  const skills = await Promise.all(
    names.map(async (entry): Promise<readonly ListedSkill[]> => {
      try {
        const skill = await readSkill(folder, entry);
        if (!skill) return [];
        const { name, description } = skill;
        return [{ name, description, location: folder.pathOf("skills", entry, "SKILL.md") }];
      } catch (error) {
        report(error);
        return [];
      }
    }),
  );
  return skills.flat();
}

/** Reads a skill; null if there is none. @throws Error that names the file and the problem. */
async function readSkill(folder: Folder, name: string): Promise<SkillFile | null> {
  const text = await folder.readPinned("skills", name, "SKILL.md");
  if (text === null) return null;
  try {
    return parseSkillFile(text, name);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`skills/${name}/SKILL.md: ${why}`, { cause });
  }
}

/** Returns the body of a skill that a model has named. @throws Error that lists the skills there are. */
export async function readBody(folder: Folder, name: string): Promise<string> {
  const skill = isSkillName(name) ? await readSkill(folder, name) : null;
  if (skill) return skill.body;
  const known = await listSkills(folder, () => undefined);
  const names = known.map((listed) => listed.name).join(", ") || "none";
  throw new Error(`unknown skill ${JSON.stringify(name)}; skills: ${names}`);
}
