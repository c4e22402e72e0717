import { createHash } from "node:crypto";

/** SHA-256 hashes of files in hexadecimal, by path in the folder, such as `extensions/audit.ts`. */
export type Pins = Readonly<Record<string, string>>;

/** Returns the hash by which a file is pinned. */
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Throws unless a file has the pinned content. @throws Error that names the file, and both hashes. */
export function checkPin(pins: Pins, path: string, text: string | null): void {
  const wanted = Object.hasOwn(pins, path) ? pins[path] : undefined;
  if (text === null) {
    if (wanted !== undefined) throw new Error(`pinned file ${path} is missing`);
    return;
  }
  if (wanted === undefined) throw new Error(`file ${path} has no pin`);
  const found = hashOf(text);
  if (wanted !== found)
    throw new Error(`file ${path} has changed: its hash is ${found}, the pinned one ${wanted}`);
}
