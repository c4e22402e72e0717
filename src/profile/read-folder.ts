// Reads the files of a profile folder.
//
// Job: give the text of a file below one folder, and lists of files. Neighbours: profile makes sections and a tool of
// them; skill-file decodes the beginning of a SKILL.md.
//
// Invariants:
// 1. Nothing outside the folder is read. Links are resolved first, and the file is opened by its real path without
//    following links again.
// 2. Only regular files up to a size are read, and only UTF-8 text.
// 3. A file that does not exist is null. Every other problem is an error that names the file.
// 4. With pins, `readPinned` gives a text only if its content has the pinned hash.
import { constants, realpathSync, statSync } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";

import { checkPaths, checkPin, type Pins } from "./pins.ts";

/** Bytes of a file. */
const maxBytes = 100_000;
/** Files and folders that a list has. */
const maxEntries = 200;

/** A file or a folder in a list. */
export interface FolderEntry {
  readonly name: string;
  readonly bytes: number;
  readonly isFile: boolean;
}

/** A folder whose files may be read. */
export class Folder {
  /** The real path. */
  readonly path: string;
  readonly #pins: Pins | undefined;

  /** `pins`: hashes of text files. @throws TypeError unless there is such a folder and every pin is checked. */
  constructor(path: string, pins?: Pins) {
    if (pins) checkPaths(pins);
    this.#pins = pins;
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isDirectory())
      throw new TypeError(`profile ${JSON.stringify(path)} is not a folder: create it, or give another path`);
    this.path = realpathSync(resolve(path));
  }

  /** Returns the path of a file or folder, as a prompt may show it. */
  pathOf(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  has(name: string): boolean {
    return statSync(this.pathOf(name), { throwIfNoEntry: false }) !== undefined;
  }

  /** Returns a text that changes with the file. */
  versionOf(name: string): string {
    const found = statSync(this.pathOf(name), { throwIfNoEntry: false });
    return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : "none";
  }

  /** Returns the text of a file; null if there is none. @throws Error that names the file and the problem. */
  async read(...names: readonly string[]): Promise<string | null> {
    const path = this.pathOf(...names);
    const shown = relative(this.path, path);
    const real = await this.#resolve(path);
    if (real === null) return null;
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await open(real, flags);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new Error(`${shown} is not a file`);
      if (found.size > maxBytes)
        throw new Error(`${shown} has ${found.size} bytes; at most ${maxBytes} are allowed`);
      return decodeFile(await file.readFile(), shown);
    } finally {
      await file.close();
    }
  }

  /** Reads a text that instructs the model. @throws Error also if there are pins and its hash differs. */
  async readPinned(...names: readonly string[]): Promise<string | null> {
    const text = await this.read(...names);
    if (this.#pins) checkPin(this.#pins, names.join("/"), text);
    return text;
  }

  /** Whether the owner of the folder vouches for a file and its name: there are no pins, or it has one. */
  isTrusted(...names: readonly string[]): boolean {
    return this.#pins === undefined || this.isPinned(...names);
  }

  isPinned(...names: readonly string[]): boolean {
    return this.#pins !== undefined && Object.hasOwn(this.#pins, names.join("/"));
  }

  /** Returns the names that pins have directly below a subfolder. */
  pinnedNames(folder: string): readonly string[] {
    const paths = Object.keys(this.#pins ?? {}).map((path) => path.split("/"));
    return paths.flatMap(([first, name]) => (first === folder && name !== undefined ? [name] : []));
  }

  /** Lists a subfolder by name, without hidden files. Empty if there is none. */
  async list(name: string): Promise<readonly FolderEntry[]> {
    const real = await this.#resolve(this.pathOf(name));
    if (real === null) return [];
    const names = (await readdir(real)).filter((entry) => !entry.startsWith(".")).toSorted();
    if (names.length > maxEntries)
      throw new Error(`${name} has ${names.length} entries; at most ${maxEntries} are allowed`);
    return Promise.all(
      names.map(async (entry) => {
        const found = await stat(join(real, entry));
        return { name: entry, bytes: found.size, isFile: found.isFile() };
      }),
    );
  }

  /** Returns the real path. Null if it does not exist. @throws Error for a path that leads out of the folder. */
  async #resolve(path: string): Promise<string | null> {
    try {
      const real = await realpath(path);
      if (real === this.path || real.startsWith(`${this.path}${sep}`)) return real;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
    throw new Error(`${relative(this.path, path)} is outside the profile folder`);
  }
}

function decodeFile(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${shown} is not UTF-8 text`);
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
