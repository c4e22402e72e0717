import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

/** Returns the environment of a project's workers. Variables that are set override those of its `.env`. */
export function devEnvironment(folder: string, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const file = join(folder, ".env");
  return existsSync(file) ? { ...parseEnv(readFileSync(file, "utf8")), ...environment } : environment;
}
