import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The address of a server and the API key for it. */
export interface Server {
  readonly url: string;
  readonly key: string | null;
}

const defaultUrl = "http://127.0.0.1:7433";

/** File in `.reeve` of a project in which `reeve dev` stores its addresses for other commands. */
export const devFile = "dev.json";

/**
 * Returns the given URL, else `REEVE_URL`, else that of `reeve dev` in this folder or a parent folder, else the
 * default.
 */
export function findServer(
  told: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Server {
  const named = told ?? environment["REEVE_URL"];
  const found = named === undefined ? readDev(folder, "url") : null;
  const url = (named ?? found ?? defaultUrl).replace(/\/$/, "");
  // A file in a parent folder is not trusted with the key: `reeve dev` needs none.
  return { url, key: found === null ? (environment["REEVE_API_KEY"] ?? null) : null };
}

/**
 * Returns the address of Restate's admin API: the given one, else `RESTATE_ADMIN`, else that of `reeve dev` in this
 * folder.
 */
export function findAdmin(
  told: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): string | null {
  return told ?? environment["RESTATE_ADMIN"] ?? readDev(folder, "admin");
}

/** Reads the file of `reeve dev` in a folder or a parent folder. */
function readDev(folder: string, field: "url" | "admin"): string | null {
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, ".reeve", devFile), "utf8"));
    const value: unknown = Reflect.get(Object(found), field);
    if (typeof value === "string") return value;
  } catch {
    // None here: perhaps above.
  }
  return dirname(folder) === folder ? null : readDev(dirname(folder), field);
}
