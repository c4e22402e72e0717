import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { isJsonObject, type JsonObject } from "reeve/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../free-port.ts";

const root = resolve(import.meta.dirname, "../..");
const needed = ["@ai-sdk/anthropic", "zod"];
const children = new Set<ChildProcess>();
let project = "";

/** A command in a process of its own: each line that it says, as JSON, and how it ended. */
class Reeve {
  readonly process: ChildProcess;
  readonly lines: JsonObject[] = [];
  readonly ended: Promise<number | null>;

  constructor(...words: readonly string[]) {
    const main = join(root, "src/cli/main.ts");
    this.process = spawn(process.execPath, ["--conditions=reeve-source", main, ...words, "--json"], {
      cwd: project,
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.add(this.process);
    const said = this.process.stdout;
    if (!said) throw new Error("no output");
    createInterface({ input: said }).on("line", (line) => {
      const value: unknown = JSON.parse(line);
      if (isJsonObject(value)) this.lines.push(value);
    });
    this.ended = once(this.process, "close").then(([code]) => {
      children.delete(this.process);
      return typeof code === "number" ? code : null;
    });
  }

  /** The first line that has this type, now or when it comes. */
  async line(type: string, after = 0): Promise<JsonObject> {
    const find = (): JsonObject | undefined => this.lines.slice(after).find((line) => line["type"] === type);
    await expect.poll(find, { timeout: 40_000 }).toBeDefined();
    return find() ?? {};
  }
}

function pidsOf(words: string): readonly number[] {
  const { pid, restatePid }: { pid: number; restatePid: number } = JSON.parse(words);
  return [pid, restatePid];
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "reeve-dev-"));
  expect(await new Reeve("init", ".").ended).toBe(0);
  for (const name of needed) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  symlinkSync(root, join(project, "node_modules/reeve"));
});

afterAll(async () => {
  // Asked, not killed: what it has started ends with it.
  const ends = [...children].map(async (child) => {
    const ended = once(child, "exit");
    child.kill("SIGINT");
    await ended;
  });
  await Promise.all(ends);
  rmSync(project, { recursive: true, force: true, maxRetries: 3 });
});

test(
  "a new project runs: a team works, workers die, all of it stops and starts again, a person approves elsewhere",
  { timeout: 60_000 },
  async () => {
    const port = String(await freePort());
    const dev = new Reeve("dev", "--port", port);
    expect(await dev.line("ready")).toMatchObject({ agents: ["boss", "digger", "clerk"], failure: null });
    const file = join(project, ".reeve/dev.json");
    const pids = pidsOf(readFileSync(file, "utf8"));

    const run = new Reeve("run", "boss", "Who built the mill?", "--id", "mill", "--max-cost", "0.5");
    await run.line("model.start");
    const workers = dev.lines.flatMap((line) => (typeof line["pid"] === "number" ? [line["pid"]] : []));
    for (const pid of workers) process.kill(pid, "SIGKILL");
    await dev.line("restarting");
    await run.line("approval.requested");

    const known = dev.lines.length;
    const agents = readFileSync(join(project, "agents.ts"));
    appendFileSync(join(project, "agents.ts"), "throw new Error('the mill burns');\n");
    const failures = (): string =>
      dev.lines
        .slice(known)
        .map((line) => JSON.stringify(line["failure"]))
        .join();
    await expect.poll(failures, { timeout: 20_000 }).toContain("the mill burns");
    writeFileSync(join(project, "agents.ts"), agents);

    dev.process.kill("SIGINT");
    expect(await dev.ended).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect([...pids, ...workers].filter(isAlive)).toEqual([]);

    const next = new Reeve("dev", "--port", port);
    await next.line("ready");
    expect(await new Reeve("approve", "mill").ended).toBe(0);
    expect(await run.ended).toBe(0);
    const result = run.lines.at(-1);
    expect(result).toMatchObject({ type: "result", status: "completed" });
    expect(result?.["output"]).toContain("The letter to the town is in the post.");
    const seqs = run.lines.flatMap((line) => (typeof line["seq"] === "number" ? [line["seq"]] : []));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));

    next.process.kill("SIGINT");
    expect(await next.ended).toBe(0);
  },
);

test("a project without agents, or one that runs already, is refused in words", async () => {
  expect(await new Reeve("dev", "nobody.ts").ended).toBe(4);
  mkdirSync(join(project, ".reeve"), { recursive: true });
  const file = join(project, ".reeve/dev.json");
  writeFileSync(file, JSON.stringify({ pid: process.pid, restatePid: 0, url: "http://127.0.0.1:1" }));
  expect(await new Reeve("dev", "--port", "0").ended).toBe(5);
  rmSync(file);
});
