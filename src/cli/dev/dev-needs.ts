import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { missingPackagesText } from "#base";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";

/** The optional packages that `reeve dev` needs. */
const packages = ["@restatedev/restate-sdk", "@restatedev/restate-server", "hono", "kysely"];

/** The machines that the Restate server is built for. */
const machines = new Set(["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]);

/** Checks that optional packages are installed. @throws CliError that names all that are missing */
export function checkPackages(what: string, names: readonly string[], isInstalled = isInstalledHere): void {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const [message = "", hint = ""] = missingPackagesText(what, missing).split(": ");
  throw new CliError(message, { code: "missing-packages", exitCode: ExitCode.refused, hint });
}

/** Checks what `reeve dev` needs of this machine. @throws CliError that names all that is missing */
export function checkDevNeeds(machine: string, isInstalled = isInstalledHere): void {
  if (!machines.has(machine))
    throw new CliError(machineText(machine), { ...unsupported, hint: hintFor(machine) });
  checkPackages("reeve dev", packages, isInstalled);
}

const unsupported = { code: "unsupported-machine", exitCode: ExitCode.refused };

const machineText = (machine: string): string =>
  `reeve dev starts a Restate server, which is built for Linux and macOS on x64 and arm64; this is ${machine}`;

const hintFor = (machine: string): string =>
  machine.startsWith("win32")
    ? "run it in WSL (wsl --install); client commands and programs without Restate need no WSL"
    : "run it on another machine, and set --url or REEVE_URL";

/** Whether this package finds an optional one. It is not loaded: that takes long. */
function isInstalledHere(name: string): boolean {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders.some((folder) => existsSync(join(folder, name, "package.json")));
}
