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
import { isJsonObject, type JsonObject } from "#kernel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../free-port.ts";

const root = resolve(import.meta.dirname, "../..");
const needed = ["@ai-sdk/anthropic", "zod"];
const children = new Set<ChildProcess>();
let project = "";

/** A command in its own process: each line of its output, as JSON, and its exit. */
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

  /** Returns the first line of this type, now or later. */
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
  // Terminated, not killed: child processes end with it.
  const ends = [...children].map(async (child) => {
    const ended = once(child, "exit");
    child.kill("SIGINT");
    await ended;
  });
  await Promise.all(ends);
  rmSync(project, { recursive: true, force: true, maxRetries: 3 });
});

test(
  "a run of a new project survives killed workers and a full restart, and is approved from another terminal",
  { timeout: 60_000 },
  async () => {
    const port = String(await freePort());
    const dev = new Reeve("dev", "--port", port);
    expect(await dev.line("ready")).toMatchObject({
      agents: ["lead", "researcher", "reviewer", "writer"],
      failure: null,
    });
    const file = join(project, ".reeve/dev.json");
    const pids = pidsOf(readFileSync(file, "utf8"));

    const run = new Reeve("run", "lead", "heat pumps in Europe", "--id", "report", "--max-cost", "0.5");
    await run.line("model.start");
    const workers = dev.lines.flatMap((line) => (typeof line["pid"] === "number" ? [line["pid"]] : []));
    for (const pid of workers) process.kill(pid, "SIGKILL");
    await dev.line("restarting");
    await run.line("approval.requested");

    const known = dev.lines.length;
    const agents = readFileSync(join(project, "agents.ts"));
    appendFileSync(join(project, "agents.ts"), "throw new Error('the office burns');\n");
    const failures = (): string =>
      dev.lines
        .slice(known)
        .map((line) => JSON.stringify(line["failure"]))
        .join();
    await expect.poll(failures, { timeout: 20_000 }).toContain("the office burns");
    writeFileSync(join(project, "agents.ts"), agents);

    dev.process.kill("SIGINT");
    expect(await dev.ended).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect([...pids, ...workers].filter(isAlive)).toEqual([]);

    const next = new Reeve("dev", "--port", port);
    await next.line("ready");
    expect(await new Reeve("approve", "report").ended).toBe(0);
    expect(await run.ended).toBe(0);
    const result = run.lines.at(-1);
    expect(result).toMatchObject({ type: "result", status: "completed" });
    expect(result?.["output"]).toContain("E-mail sent to team@example.com.");
    const seqs = run.lines.flatMap((line) => (typeof line["seq"] === "number" ? [line["seq"]] : []));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));

    next.process.kill("SIGINT");
    expect(await next.ended).toBe(0);
  },
);

test("a project without agents, or one that runs already, is refused with a message", async () => {
  expect(await new Reeve("dev", "unknown.ts").ended).toBe(4);
  mkdirSync(join(project, ".reeve"), { recursive: true });
  const file = join(project, ".reeve/dev.json");
  writeFileSync(file, JSON.stringify({ pid: process.pid, restatePid: 0, url: "http://127.0.0.1:1" }));
  expect(await new Reeve("dev", "--port", "0").ended).toBe(5);
  rmSync(file);
});

test(
  "a run finishes with the code it began with, however often the code changes",
  { timeout: 240_000 },
  async () => {
    const file = join(project, "agents.ts");
    const original = readFileSync(file, "utf8");
    const dev = new Reeve("dev", "--port", String(await freePort()));
    await dev.line("ready");
    const saved = async (text: string, number: number): Promise<void> => {
      writeFileSync(file, text);
      const ready = (): boolean =>
        dev.lines.some((line) => line["type"] === "ready" && line["number"] === number);
      await expect.poll(ready, { timeout: 40_000 }).toBe(true);
    };
    const run = new Reeve("run", "lead", "heat pumps in Europe", "--id", "edited", "--max-cost", "0.5");
    await run.line("approval.requested");
    // The fourth build, whose lead has another team, retires the first.
    await saved(`${original}// one\n`, 2);
    await saved(`${original}// two\n`, 3);
    await saved(original.replaceAll('"writer"', '"author"'), 4);
    await saved(original, 5);
    expect(await new Reeve("approve", "edited").ended).toBe(0);
    expect(await run.ended).toBe(0);
    expect(run.lines.at(-1)).toMatchObject({ type: "result", status: "completed" });

    // No other live build has the program of this run, so its build stays.
    const other = new Reeve("run", "lead", "heat pumps in Asia", "--id", "alone", "--max-cost", "0.5");
    await other.line("approval.requested");
    const named = (name: string): string => original.replaceAll('"writer"', `"${name}"`);
    for (const [index, name] of ["a", "b", "c", "d"].entries()) await saved(named(name), 6 + index);
    expect(await new Reeve("approve", "alone").ended).toBe(0);
    expect(await other.ended).toBe(0);

    const build = readFileSync(join(project, ".reeve/builds"), "utf8").trim().split("\n").at(-1) ?? "";
    const moving = new Reeve("move", "dev-none");
    expect(await moving.ended).toBe(0);
    expect(moving.lines).toEqual([{ moved: 0, left: 0 }]);
    expect(await new Reeve("move", build, "--to", "nowhere").ended).toBe(4);

    writeFileSync(file, original);
    dev.process.kill("SIGINT");
    expect(await dev.ended).toBe(0);
  },
);
