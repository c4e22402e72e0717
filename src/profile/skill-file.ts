/** A skill as its SKILL.md states it. */
export interface SkillFile {
  readonly name: string;
  readonly description: string;
  /** The text below the front matter. */
  readonly body: string;
}

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const maxName = 64;
const maxDescription = 1_024;

/** Keys of the Agent Skills convention. Only name and description are used. */
const keys: ReadonlySet<string> = new Set([
  "name",
  "description",
  "license",
  "compatibility",
  "metadata",
  "allowed-tools",
]);

/** Whether a text may be the name of a skill. */
export function isSkillName(name: string): boolean {
  return name.length <= maxName && namePattern.test(name);
}

/**
 * Decodes a SKILL.md: front matter with one `key: value` per line, then the body. Indented lines are allowed only below
 * `metadata`. @throws Error with the reason.
 */
export function parseSkillFile(text: string, folder: string): SkillFile {
  const [, head, body = ""] = /^---\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n(.*))?$/s.exec(text) ?? [];
  if (head === undefined) throw new Error("it must begin with front matter between two lines of ---");
  const fields = parseFields(head.split(/\r?\n/));
  const { name = "", description = "" } = fields;
  if (!isSkillName(name))
    throw new Error(
      `name must be 1 to ${maxName} lower-case letters and digits with single hyphens, got ${JSON.stringify(name)}`,
    );
  if (name !== folder) throw new Error(`name must equal its folder's name, ${folder}, got ${name}`);
  if (description === "" || description.length > maxDescription)
    throw new Error(`description must have 1 to ${maxDescription} characters, got ${description.length}`);
  return { name, description, body: body.trim() };
}

function parseFields(lines: readonly string[]): Partial<Record<string, string>> {
  const fields = new Map<string, string>();
  let last = "";
  for (const line of lines) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    if (/^\s/.test(line) && last === "metadata") continue;
    const [, key, value = ""] = /^([a-z-]+):(?:[ \t](.*))?$/.exec(line) ?? [];
    if (key === undefined || !keys.has(key))
      throw new Error(`not a line of front matter: ${JSON.stringify(line)} (keys: ${[...keys].join(", ")})`);
    if (fields.has(key)) throw new Error(`${key} is set twice`);
    fields.set(key, parseValue(key, value.trim()));
    last = key;
  }
  return Object.fromEntries(fields);
}

/** Returns a plain value unchanged, a quoted one without its quotes. */
function parseValue(key: string, value: string): string {
  if (value.startsWith('"')) {
    try {
      const text: unknown = JSON.parse(value);
      if (typeof text === "string") return text;
    } catch {
      // Reported below.
    }
    throw new Error(`${key} is not a valid string in double quotes`);
  }
  if (value.startsWith("'")) {
    const [, inner] = /^'((?:[^']|'')*)'$/.exec(value) ?? [];
    if (inner === undefined) throw new Error(`${key} is not a valid string in single quotes`);
    return inner.replaceAll("''", "'");
  }
  if (key !== "metadata" && /^[>|[{&*!%@`]/.test(value))
    throw new Error(`${key} must be a string on one line, in quotes if it begins with ${value.charAt(0)}`);
  return value;
}
