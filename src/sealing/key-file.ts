import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Keys } from "#kernel";
import { type MasterKey, derive, masterKey } from "./derived-keys.ts";

/**
 * Returns keys from a file, for development: one key in base64 on each line, the newest first. The file is created when
 * it is first needed, readable only by its owner. Data sealed with a lost file cannot be recovered.
 */
export function keyFile({ path }: { readonly path: string }): Keys {
  let known: Promise<readonly [MasterKey, ...MasterKey[]]> | null = null;
  return {
    getRing: async (partition) => {
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
  const text = (await readIfPresent(path)) ?? (await createKeyFile(path));
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [newest = "", ...older] = lines;
  return [masterKey(newest, path), ...older.map((line) => masterKey(line, path))];
}

/** Creates the file. Several processes may try concurrently: the file appears complete, and the first one stays. */
async function createKeyFile(path: string): Promise<string> {
  const folder = dirname(path);
  // The process that creates the folder excludes it from git, even if another process creates the key.
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

async function readIfPresent(path: string): Promise<string | null> {
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
