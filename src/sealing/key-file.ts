import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Keys } from "#kernel";
import { type MasterKey, derive, masterKey } from "./derived-keys.ts";

/**
 * Keys from a file, for development: one key in base64 on each line, the newest first. Made when it is first needed,
 * readable by its owner only. Who loses it loses everything it has sealed.
 */
export function keyFile({ path }: { readonly path: string }): Keys {
  let known: Promise<readonly [MasterKey, ...MasterKey[]]> | null = null;
  return {
    of: async (partition) => {
      const reading = (known ??= masters(path));
      try {
        return derive(partition, await reading);
      } catch (error) {
        if (known === reading) known = null;
        throw error;
      }
    },
  };
}

async function masters(path: string): Promise<readonly [MasterKey, ...MasterKey[]]> {
  const text = (await textOf(path)) ?? (await create(path));
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [newest = "", ...older] = lines;
  return [masterKey(newest, path), ...older.map((line) => masterKey(line, path))];
}

/** Several processes may try at once: the file appears whole, and the first one's stays. */
async function create(path: string): Promise<string> {
  const folder = dirname(path);
  // Whoever makes the folder keeps it out of git, whoever's key it will be.
  const isOurs = (await mkdir(folder, { recursive: true })) !== undefined;
  if (isOurs) await writeFile(join(folder, ".gitignore"), "*\n");
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
  try {
    await link(draft, path);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  } finally {
    await rm(draft);
  }
  return readFile(path, "utf8");
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
