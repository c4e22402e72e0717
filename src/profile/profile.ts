import { extension } from "#agents";
import type { Extension, PromptSection, SectionCall } from "#kernel";
import { hasCode, loadFiles } from "./load-files.ts";
import type { Pins } from "./pins.ts";
import { Folder } from "./read-folder.ts";
import { skillTool } from "./skill-tool.ts";
import { listSkills } from "./skills.ts";

/** Characters of the knowledge that prompts show. Files beyond are named only. */
const maxKnowledge = 60_000;

/** The options of a profile. */
export interface ProfileOptions {
  /**
   * Whether a stranger may have written MEMORY.md, for example because an agent writes to it. Runs that are shown it then
   * carry the label. Default: trusted, and untrusted if `texts` are given.
   */
  readonly memoryTrust?: "trusted" | "untrusted" | undefined;
  /**
   * Whether files in `extensions` and `guardrails` are loaded: false, or only if their SHA-256 hashes are these, by path in
   * the folder. They are code, with all rights of the program. Default: they are loaded.
   */
  readonly code?: false | Pins | undefined;
  /**
   * SHA-256 hashes of the texts that instruct the model, by path in the folder: SYSTEM.md, SOUL.md, AGENTS.md, files of
   * `knowledge`, and SKILL.md of each skill. With them, a changed text, one without a hash and a missing one are not shown, and
   * reported. MEMORY.md changes while the program runs, so it has none. USER.md may have one; without it, its text is
   * untrusted. Default: all texts are shown, and trusted.
   */
  readonly texts?: Pins | undefined;
}

/**
 * Creates an agent's profile from a folder: an extension with sections of the system prompt and, if there is a folder
 * `skills`, the tool `skill`. Files are read when a turn needs them and cached until `reload()`; MEMORY.md and USER.md
 * are read again when they change. Code in `extensions` and `guardrails` is loaded when the runtime starts, and at
 * `reload()`. @throws TypeError unless there is such a folder.
 */
export function profile(
  path: string,
  { code, texts, memoryTrust = texts ? "untrusted" : "trusted" }: ProfileOptions = {},
): Extension {
  const folder = new Folder(path, texts);
  const hasSkills = folder.has("skills") || folder.pinnedNames("skills").length > 0;
  const sections: readonly PromptSection[] = [
    {
      name: "identity",
      place: "identity",
      read: async () => (await folder.readPinned("SYSTEM.md")) ?? folder.readPinned("SOUL.md"),
    },
    { name: "AGENTS.md", place: "docs", read: () => folder.readPinned("AGENTS.md") },
    { name: "knowledge", place: "append", read: (call) => readKnowledge(folder, call) },
    { ...ownFile(folder, "MEMORY.md", "Memory"), place: "memory", trust: memoryTrust },
    {
      ...ownFile(folder, "USER.md", "User"),
      place: "user",
      trust: folder.isTrusted("USER.md") ? "trusted" : "untrusted",
    },
    ...(hasSkills ? [skillSection(folder)] : []),
    { name: "profile paths", place: "footer", read: () => describePaths(folder) },
  ];
  const isLoaded = code !== false && (code !== undefined || hasCode(folder));
  return extension({
    name: "profile",
    sections,
    tools: hasSkills ? [skillTool(folder)] : [],
    ...(isLoaded && { load: () => loadFiles(folder, code) }),
  });
}

/** A file that changes while the program runs. */
function ownFile(folder: Folder, name: string, title: string): Omit<PromptSection, "place"> {
  return {
    name,
    version: () => folder.versionOf(name),
    read: async () => {
      const found = folder.isPinned(name) ? await folder.readPinned(name) : await folder.read(name);
      const text = found?.trim() ?? "";
      return text === "" ? null : `# ${title}\n\n${text}`;
    },
  };
}

/** Shows text files whole, as many as fit, and names the other files with their sizes. */
async function readKnowledge(folder: Folder, { report }: SectionCall): Promise<string | null> {
  const files = (await folder.list("knowledge")).filter(({ isFile }) => isFile);
  const found = new Set(files.map(({ name }) => name));
  for (const name of folder.pinnedNames("knowledge"))
    if (!found.has(name)) await readOrReport(folder, name, report);
  const parts: string[] = [];
  const others: string[] = [];
  let left = maxKnowledge;
  for (const { name, bytes } of files) {
    const isTrusted = folder.isTrusted("knowledge", name);
    const isShown = /\.(?:md|txt)$/.test(name) && bytes <= left;
    const text = isShown || !isTrusted ? await readOrReport(folder, name, report) : null;
    // The name of a file instructs the model too, so one without a pin is not named.
    if (!isTrusted) continue;
    if (text === null) others.push(`- ${folder.pathOf("knowledge", name)} (${bytes} bytes)`);
    else {
      left -= bytes;
      parts.push(`## ${name}\n\n${text.trim()}`);
    }
  }
  if (others.length > 0) parts.push(`Further files, not shown:\n${others.join("\n")}`);
  return parts.length === 0 ? null : ["# Knowledge", ...parts].join("\n\n");
}

async function readOrReport(
  folder: Folder,
  name: string,
  report: SectionCall["report"],
): Promise<string | null> {
  try {
    return await folder.readPinned("knowledge", name);
  } catch (error) {
    report(error);
    return null;
  }
}

function skillSection(folder: Folder): PromptSection {
  return {
    name: "skills",
    place: "skills",
    read: async ({ report }) => {
      const skills = await listSkills(folder, report);
      if (skills.length === 0) return null;
      const shown = skills.flatMap(({ name, description, location }) => [
        "  <skill>",
        `    <name>${escape(name)}</name>`,
        `    <description>${escape(description)}</description>`,
        `    <location>${escape(location)}</location>`,
        "  </skill>",
      ]);
      return [
        "# Skills",
        "",
        "Before you do something that a skill describes, read the skill and follow it. Read only those that you need.",
        "",
        "<available_skills>",
        ...shown,
        "</available_skills>",
      ].join("\n");
    },
  };
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function describePaths(folder: Folder): string {
  return [
    `Profile directory: ${folder.path}`,
    `Profile SOUL.md: ${folder.pathOf("SOUL.md")} (persona and identity)`,
    `Profile MEMORY.md: ${folder.pathOf("MEMORY.md")} (long-term memory)`,
    `Profile USER.md: ${folder.pathOf("USER.md")} (the user)`,
    `Profile skills directory: ${folder.pathOf("skills")}`,
    `Profile knowledge directory: ${folder.pathOf("knowledge")}`,
  ].join("\n");
}
