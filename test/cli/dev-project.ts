import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { isJsonObject, type JsonObject } from "#kernel";
import { expect } from "vitest";
import { quickenDemo } from "../quick-demo.ts";

const root = resolve(import.meta.dirname, "../..");
const needed = ["@ai-sdk/anthropic", "zod"];

/** A command in its own process: each line of its output, as JSON, and its exit. */
export class Command {
  readonly process: ChildProcess;
  readonly lines: JsonObject[] = [];
  readonly ended: Promise<number | null>;

  constructor(folder: string, words: readonly string[]) {
    const main = join(root, "src/cli/main.ts");
    this.process = spawn(process.execPath, ["--conditions=reeve-source", main, ...words, "--json"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said = this.process.stdout;
    if (!said) throw new Error("no output");
    createInterface({ input: said }).on("line", (line) => {
      const value: unknown = JSON.parse(line);
      if (isJsonObject(value)) this.lines.push(value);
    });
    this.ended = once(this.process, "close").then(([code]) => (typeof code === "number" ? code : null));
  }

  /** Returns the first line of this type, now or later. */
  async line(type: string): Promise<JsonObject> {
    const find = (): JsonObject | undefined => this.lines.find((line) => line["type"] === type);
    await expect.poll(find).toBeDefined();
    return find() ?? {};
  }
}

/** A project that `reeve init` has written, for commands in its folder. */
export class DevProject implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "reeve-dev-"));
  readonly #commands: Command[] = [];

  static async create(): Promise<DevProject> {
    const project = new DevProject();
    expect(await project.reeve("init", ".").ended).toBe(0);
    quickenDemo(project.folder);
    const modules = join(project.folder, "node_modules");
    for (const name of needed) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(modules, name));
    }
    symlinkSync(root, join(modules, "reeve"));
    return project;
  }

  /** Starts a command. */
  reeve(...words: readonly string[]): Command {
    const command = new Command(this.folder, words);
    this.#commands.push(command);
    return command;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Terminated, not killed: child processes end with it.
    for (const command of this.#commands) command.process.kill("SIGINT");
    await Promise.all(this.#commands.map(({ ended }) => ended));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
