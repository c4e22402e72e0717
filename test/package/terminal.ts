import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import type { Platform } from "./platform.ts";

/** A typed command: its output and its exit code. */
export class Command {
  readonly line: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number | null>;
  #printed = "";

  constructor(line: string, folder: string, environment: NodeJS.ProcessEnv) {
    this.line = line;
    const process = spawn("bash", ["-c", line], {
      cwd: folder,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // a group of its own, as in a terminal: an interrupt reaches all of it
    });
    this.#process = process;
    for (const stream of [process.stdout, process.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.#printed += text));
    this.#exited = once(process, "close").then(([code]) => (typeof code === "number" ? code : null));
  }

  /** The output so far, without npm's warnings about the settings of this machine. */
  get printed(): string {
    return this.#printed.replaceAll(/^npm warn Unknown \w+ config .*\n/gm, "");
  }

  async exitCode(): Promise<number | null> {
    return this.#exited;
  }

  /** Resolves once it has printed this text. */
  async prints(text: string): Promise<void> {
    await expect.poll(() => this.printed).toContain(text);
  }

  /** Presses Ctrl-C, unless the command has ended. Resolves once it and its children have ended. */
  async interrupt(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGINT");
    await this.#exited;
  }
}

/** A terminal in a folder, with the programs of a platform. */
export class Terminal {
  readonly #platform: Platform;
  readonly #commands: Command[] = [];
  #folder: string;

  constructor(platform: Platform, folder: string) {
    this.#platform = platform;
    this.#folder = folder;
  }

  get folder(): string {
    return this.#folder;
  }

  /** Types one line and does not wait for its end. */
  start(line: string, environment: NodeJS.ProcessEnv = {}): Command {
    const command = new Command(this.#platform.translate(line), this.#folder, {
      ...plainEnvironment(),
      PATH: `${this.#platform.bin}:${process.env["PATH"]}`,
      ...environment,
    });
    this.#commands.push(command);
    return command;
  }

  /** Types one line and waits for its end. Returns its output. @throws if it failed. */
  async run(line: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
    const [, folder] = /^cd (\S+)$/.exec(line) ?? [];
    if (folder !== undefined) {
      this.#folder = join(this.#folder, folder);
      return "";
    }
    const command = this.start(line, environment);
    const code = await command.exitCode();
    if (code !== 0) throw new Error(`${command.line} exited with ${code}:\n${command.printed}`);
    return command.printed;
  }

  /** Interrupts everything that still runs. */
  async close(): Promise<void> {
    await Promise.all(this.#commands.map((command) => command.interrupt()));
  }
}

/** Milliseconds that an installation may take: the registry may be slow. */
export const installMs = 240_000;

/** The environment without what npm and the test runner added to it. npm uses what it has fetched before. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const added = /^(npm_|VITEST|NODE_ENV$|NODE_OPTIONS$|INIT_CWD$|TEST$|PROD$|DEV$|MODE$)/;
  const kept = Object.entries(process.env).filter(([name]) => !added.test(name));
  return { ...Object.fromEntries(kept), npm_config_prefer_offline: "true" };
}
