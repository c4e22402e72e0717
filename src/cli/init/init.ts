import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { projectFiles, type Versions } from "./project-files.ts";

/** How `reeve init` behaves. */
export interface InitOptions {
  readonly json?: boolean;
  /** What the project depends on, as npm would have it. Default: this version. */
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
    throw new CliError(`${given} is not empty`, {
      code: "not-empty",
      exitCode: ExitCode.refused,
      hint: "reeve init <new folder>",
    });
  const files = projectFiles(nameFor(folder), versions(reeve));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  if (json) terminal.out.write(`${JSON.stringify({ folder, files: Object.keys(files) })}\n`);
  else terminal.out.write(nextSteps(relative(terminal.folder, folder)));
  return ExitCode.ok;
}

function nextSteps(folder: string): string {
  const enter = folder === "" ? "" : `  cd ${folder}\n`;
  return `made ${folder === "" ? "a project here" : folder}. Next:\n\n${enter}  npm install\n  npx reeve dev\n\nand in another terminal:\n\n${enter}  npx reeve run boss "Who built the mill?"\n`;
}

/** A name that npm takes. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" || name === "reeve" ? "agents" : name;
}

interface Package {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Those that this package was built and tested with. */
function versions(reeve: string | undefined): Versions {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  const { version, devDependencies }: Package = JSON.parse(text);
  return { reeve: reeve ?? `^${version}`, of: (name) => devDependencies[name] ?? "latest" };
}
