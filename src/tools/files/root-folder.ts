// Opens files below one folder, whatever another process does to that folder at the same time.
//
// Job: give handles of files and folders by names below the root, and write files. Neighbours: relative-path parses what
// a model has written; files makes tools of both.
//
// Node has no openat(). On Linux `/proc/self/fd/N/name` is the same: the kernel resolves `name` in the folder that is
// open as descriptor N, also if that folder has another path by now.
//
// Invariants:
// 1. Each name is resolved alone, in the open descriptor of its folder, with O_NOFOLLOW. So no link is ever followed,
//    and there is no moment between a check and its use.
// 2. A descriptor is used only if the kernel says that its path is below the root.
// 3. Only regular files that have one name are read. A second name may be a file outside the root.
// 4. A file is written under a new name and renamed. The file that had the name before is never opened for writing.
import { randomUUID } from "node:crypto";
import { constants, existsSync, realpathSync, statSync } from "node:fs";
import { lstat, mkdir, open, opendir, readlink, rename, unlink, type FileHandle } from "node:fs/promises";
import { resolve, sep } from "node:path";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const defaultMode = 0o644;

/** A file or a folder in a list. */
export type FolderEntry = {
  readonly name: string;
  readonly kind: "file" | "folder" | "other";
  /** The size of a file. */
  readonly bytes?: number;
};

/** A part of a file. */
export interface FilePart {
  readonly bytes: Uint8Array;
  /** Bytes of the whole file. */
  readonly size: number;
}

/** A folder outside of which nothing is opened. */
export class RootFolder {
  /** The real path. */
  readonly #path: string;

  /** @throws TypeError unless there is such a folder, and this is Linux with /proc. */
  constructor(path: string) {
    if (!existsSync("/proc/self/fd"))
      throw new TypeError(
        "files() needs Linux with /proc: other systems have no race-free way to open a path",
      );
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw new TypeError(`root ${JSON.stringify(path)} is not a folder: create it, or give another path`);
    this.#path = realpathSync(resolve(path));
  }

  /** Reads a part of a regular file. @throws Error that names the path and the problem. */
  async read(names: readonly string[], from: number, maxBytes: number): Promise<FilePart> {
    return this.#inFolder(names.slice(0, -1), { create: false }, async (folder) => {
      const file = await openAt(folder, names, O_RDONLY | O_NONBLOCK);
      try {
        await this.#expectInside(file, names);
        const found = await file.stat();
        if (!found.isFile()) throw new Error(`${showPath(names)} is not a regular file`);
        if (found.nlink > 1)
          throw new Error(`${showPath(names)} has a second hard link, which may be outside the root`);
        const bytes = new Uint8Array(Math.max(0, Math.min(found.size - from, maxBytes)));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
        return { bytes: bytes.subarray(0, bytesRead), size: found.size };
      } finally {
        await file.close();
      }
    });
  }

  /** Lists a folder, by name. @throws Error that names the path and the problem. */
  async list(
    names: readonly string[],
    { maxEntries, hidden }: { readonly maxEntries: number; readonly hidden: boolean },
  ): Promise<readonly FolderEntry[]> {
    return this.#inFolder(names, { create: false }, async (folder) => {
      const entries: FolderEntry[] = [];
      for await (const { name } of await opendir(toDescriptorPath(folder))) {
        if (!hidden && name.startsWith(".")) continue;
        if (entries.length === maxEntries)
          throw new Error(`${showPath(names)} has more than ${maxEntries} entries: list a folder inside it`);
        entries.push(await describeEntry(folder, name));
      }
      return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    });
  }

  /** Writes a file, and the folders on the way to it. Readers see the old content or the new, never a part. */
  async write(names: readonly string[], bytes: Uint8Array): Promise<void> {
    await this.#inFolder(names.slice(0, -1), { create: true }, async (folder) => {
      const name = names.at(-1) ?? "";
      const known = await lstat(toDescriptorPath(folder, name)).catch(nullIfMissing);
      if (known && !known.isFile()) throw new Error(`${showPath(names)} is not a regular file`);
      const temporary = toDescriptorPath(folder, `.${randomUUID()}.tmp`);
      const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, defaultMode);
      try {
        await this.#expectInside(file, names);
        if (known) await file.chmod(known.mode & 0o777);
        await file.writeFile(bytes);
        await rename(temporary, toDescriptorPath(folder, name));
      } catch (error) {
        await unlink(temporary).catch(() => undefined);
        throw error;
      } finally {
        await file.close();
      }
    });
  }

  /** Opens a folder name by name, and closes it when `use` is done. */
  async #inFolder<T>(
    names: readonly string[],
    { create }: { readonly create: boolean },
    use: (folder: FileHandle) => Promise<T>,
  ): Promise<T> {
    let folder = await open(this.#path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      for (const [index, name] of names.entries()) {
        if (create) await mkdir(toDescriptorPath(folder, name)).catch(ignoreExisting);
        const next = await openAt(folder, names.slice(0, index + 1), O_RDONLY | O_DIRECTORY);
        await folder.close();
        folder = next;
        await this.#expectInside(folder, names);
      }
      return await use(folder);
    } finally {
      await folder.close();
    }
  }

  /** @throws Error unless the kernel says that the path of a descriptor is below the root. */
  async #expectInside(handle: FileHandle, names: readonly string[]): Promise<void> {
    const real = await readlink(toDescriptorPath(handle));
    if (!real.startsWith(this.#path === sep ? sep : `${this.#path}${sep}`))
      throw new Error(`${showPath(names)} is outside the root folder`);
  }
}

/** Opens the last name in the folder of the names before it. */
async function openAt(folder: FileHandle, names: readonly string[], flags: number): Promise<FileHandle> {
  try {
    return await open(toDescriptorPath(folder, names.at(-1) ?? ""), flags | O_NOFOLLOW);
  } catch (error) {
    throw new Error(`${showPath(names)} ${describeProblem(error, flags)}`, { cause: error });
  }
}

function describeProblem(error: unknown, flags: number): string {
  const code = codeOf(error);
  if (code === "ENOENT") return "does not exist";
  if (code === "ENOTDIR" || (code === "ELOOP" && flags & O_DIRECTORY))
    return "is not a folder: links are not followed";
  if (code === "ELOOP") return "is a link, and links are not followed";
  return `cannot be opened: ${code ?? "unknown error"}`;
}

async function describeEntry(folder: FileHandle, name: string): Promise<FolderEntry> {
  const found = await lstat(toDescriptorPath(folder, name)).catch(nullIfMissing);
  if (found?.isFile()) return { name, kind: "file", bytes: found.size };
  return { name, kind: found?.isDirectory() ? "folder" : "other" };
}

/** The path of an open descriptor, or of a name in it. */
const toDescriptorPath = ({ fd }: FileHandle, name?: string): string =>
  name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`;

const showPath = (names: readonly string[]): string => names.join("/") || "the root folder";

function nullIfMissing(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== "EEXIST") throw error;
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
