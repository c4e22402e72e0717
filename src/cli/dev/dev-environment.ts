import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";

/** The environment of the workers of a project. Variables that are set win over those of its `.env`. */
export function devEnvironment(folder: string, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const file = join(folder, ".env");
  return existsSync(file) ? { ...parseEnv(readFileSync(file, "utf8")), ...environment } : environment;
}
