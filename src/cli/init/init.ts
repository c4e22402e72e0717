import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import { readPackage } from "../package.ts";
import type { Terminal } from "../terminal.ts";
import { projectFiles, type Versions } from "./project-files.ts";

/** Options of `reeve init`. */
export interface InitOptions {
  readonly json?: boolean;
  /** The `reeve` that the project depends on: a version, or the path of a tarball. Default: this version. */
  readonly reeve?: string;
}

/** Makes a project in an empty folder. */
export async function init(
  terminal: Terminal,
  given: string,
  { json = false, reeve }: InitOptions,
): Promise<number> {
  const folder = resolve(terminal.folder, given);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).some((name) => !name.startsWith(".")))
    throw new CliError(`folder ${given} is not empty`, {
      code: "not-empty",
      exitCode: ExitCode.refused,
      hint: "reeve init <new folder>",
    });
  const files = projectFiles(nameFor(folder), versions(reeve && toSpec(reeve, terminal.folder)));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  if (json) terminal.out.write(`${JSON.stringify({ folder, files: Object.keys(files) })}\n`);
  else terminal.out.write(nextSteps(relative(terminal.folder, folder)));
  return ExitCode.ok;
}

function nextSteps(folder: string): string {
  const enter = folder === "" ? "" : `  cd ${folder}\n`;
  return `created ${folder === "" ? "a project here" : folder}. Next:\n\n${enter}  npm install\n  npx reeve dev\n\nand in another terminal:\n\n${enter}  npx reeve run lead "heat pumps in Europe" --max-cost 0.50\n`;
}

/** Makes the path of a file absolute: npm would resolve it from the new project, not from where it was typed. */
function toSpec(reeve: string, folder: string): string {
  const path = resolve(folder, reeve);
  return existsSync(path) ? `file:${path}` : reeve;
}

/** A name that npm takes. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter((part) => part !== "")
    .join("-");
  return name === "" || name === "reeve" ? "agents" : name;
}

/** Returns the versions that this package was built and tested with. */
function versions(reeve: string | undefined): Versions {
  const { version, devDependencies } = readPackage();
  return { reeve: reeve ?? `^${version}`, getVersion: (name) => devDependencies[name] ?? "latest" };
}
