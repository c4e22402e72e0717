import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where a server is, and what shows that we may ask it. */
export interface Server {
  readonly url: string;
  readonly key: string | null;
}

const defaultUrl = "http://127.0.0.1:7433";

/** What `reeve dev` leaves for the other commands, in `.reeve` of its project. */
export const devFile = "dev.json";

/** As told, else `REEVE_URL`, else the `reeve dev` of this folder or one above, else the usual place. */
export function findServer(
  told: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Server {
  const named = told ?? environment["REEVE_URL"];
  const found = named === undefined ? readDev(folder, "url") : null;
  const url = (named ?? found ?? defaultUrl).replace(/\/$/, "");
  // A file that lies in some folder above does not get the key: `reeve dev` asks for none.
  return { url, key: found === null ? (environment["REEVE_API_KEY"] ?? null) : null };
}

/** Returns the address of Restate's admin: as told, else `RESTATE_ADMIN`, else that of the `reeve dev` of this folder. */
export function findAdmin(
  told: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): string | null {
  return told ?? environment["RESTATE_ADMIN"] ?? readDev(folder, "admin");
}

/** Reads what the `reeve dev` of a folder, or of one above it, has left there. */
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
