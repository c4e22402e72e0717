import { createHash } from "node:crypto";

/** SHA-256 hashes of files in hexadecimal, by path in the folder, such as `extensions/audit.ts`. */
export type Pins = Readonly<Record<string, string>>;

/** Returns the hash by which a file is pinned. */
export const hashText = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Paths of texts that sections check against their pins. */
const checkedPath =
  /^(?:SYSTEM\.md|SOUL\.md|AGENTS\.md|USER\.md|knowledge\/[^/.][^/]*|skills\/[^/]+\/SKILL\.md)$/;

/** @throws TypeError for a pin of a text that nothing checks, which would protect nothing. */
export function checkPaths(pins: Pins): void {
  const unused = Object.keys(pins).filter((path) => !checkedPath.test(path));
  if (unused.length > 0)
    throw new TypeError(
      `a pin of ${unused.join(", ")} would have no effect: ` +
        "pin SYSTEM.md, SOUL.md, AGENTS.md, USER.md, files of knowledge, and SKILL.md of each skill",
    );
}

/** Throws unless a file has the pinned content. @throws Error that names the file, and both hashes. */
export function checkPin(pins: Pins, path: string, text: string | null): void {
  const wanted = Object.hasOwn(pins, path) ? pins[path] : undefined;
  if (text === null) {
    if (wanted !== undefined) throw new Error(`pinned file ${path} is missing`);
    return;
  }
  if (wanted === undefined) throw new Error(`file ${path} has no pin`);
  const found = hashText(text);
  if (wanted !== found)
    throw new Error(`file ${path} has changed: its hash is ${found}, pinned is ${wanted}`);
}
