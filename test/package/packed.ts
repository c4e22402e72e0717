import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Creates an empty folder, with the current build packed beside it where the README expects it. */
export async function packBeside(name: string): Promise<{ readonly top: string; readonly folder: string }> {
  const top = mkdtempSync(join(tmpdir(), "reeve-package-"));
  const [clone, folder] = [join(top, "reeve"), join(top, name)];
  for (const path of [clone, folder]) mkdirSync(path);
  await promisify(execFile)("npm", ["pack", "./package", "--pack-destination", clone]);
  return { top, folder };
}
