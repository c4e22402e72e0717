import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../cli-error.ts";
import { devFile } from "../client/find-server.ts";
import { ExitCode } from "../exit-code.ts";

/** The record of a running `reeve dev`. */
interface DevServer {
  readonly pid: number;
  readonly restatePid: number;
  readonly url: string;
  /** Restate's admin. */
  readonly admin: string;
}

/** The folder `.reeve` of a project: what `reeve dev` keeps between two starts. */
export class DevFolder {
  readonly #path: string;

  constructor(project: string) {
    this.#path = join(project, ".reeve");
    mkdirSync(this.#path, { recursive: true });
  }

  get restate(): string {
    return join(this.#path, "restate");
  }

  get store(): string {
    return join(this.#path, "store.db");
  }

  /** Names of every build there was. */
  get builds(): readonly string[] {
    return this.#read("builds").split("\n").filter(Boolean);
  }

  rememberBuild(name: string): void {
    appendFileSync(join(this.#path, "builds"), `${name}\n`);
  }

  forgetBuilds(): void {
    rmSync(join(this.#path, "builds"), { force: true });
  }

  /** @throws CliError if another one runs here. Ends a Restate that a killed one has left behind. */
  claim(): void {
    const text = this.#read(devFile);
    if (text === "") return;
    const { pid, restatePid, url }: DevServer = JSON.parse(text);
    if (commandOf(pid) !== "")
      throw new CliError(`reeve dev is already running in this folder, at ${url} (process ${pid})`, {
        code: "already-running",
        exitCode: ExitCode.refused,
        hint: `if that process is another program, remove ${join(this.#path, devFile)}`,
      });
    if (commandOf(restatePid).includes("restate-server")) process.kill(restatePid, "SIGKILL");
  }

  announce(running: DevServer): void {
    writeFileSync(join(this.#path, devFile), JSON.stringify(running));
  }

  withdraw(): void {
    rmSync(join(this.#path, devFile), { force: true });
  }

  #read(name: string): string {
    try {
      return readFileSync(join(this.#path, name), "utf8");
    } catch {
      return "";
    }
  }
}

/** Returns the command line of a process. Empty if there is no such process. */
function commandOf(pid: number): string {
  try {
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return "";
  }
}
