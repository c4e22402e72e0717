import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agent, createRuntime, type Json, permissions } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { bubblewrap, type Sandbox, shell } from "reeve/tools";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callTool } from "./call-tool.ts";
import { attempts, injections } from "./escapes.ts";
import {
  base,
  isRoot,
  makeFolder,
  run,
  secret,
  setUp,
  startProcess,
  tearDown,
  user,
  type World,
} from "./sandbox-world.ts";

let world: World;
beforeAll(async () => {
  world = await setUp();
});
afterAll(tearDown);

test("a command runs in the root, sees it as /workspace, and returns its exit code and output", async () => {
  const folder = makeFolder("plain");
  mkdirSync(join(folder, "inner"));
  expect(
    await run(["sh", "-c", "pwd; echo text > file; echo problem >&2; exit 3"], { root: folder }),
  ).toEqual({
    exitCode: 3,
    stdout: "/workspace\n",
    stderr: "problem\n",
  });
  expect(readFileSync(join(folder, "file"), "utf8")).toBe("text\n");
  expect((await run(["pwd"], { root: folder }, { cwd: "inner" })).stdout).toBe("/workspace/inner\n");
});

test("a command has the listed variables alone", async () => {
  const { stdout } = await run(["env"], { env: { CITY: "Berlin" } });
  const names = stdout
    .trim()
    .split("\n")
    .map((line) => line.replace(/=.*/, ""));
  expect(names.toSorted()).toEqual(["CITY", "HOME", "LANG", "PATH", "PWD"]);
});

test.each(attempts)("the sandbox stops this escape: $name", async ({ argv }) => {
  const before = [readFileSync(world.canary, "utf8")];
  const { stdout, exitCode } = await run(argv(world));
  expect(stdout).toMatch(/^tried/);
  expect(stdout).not.toContain("ESCAPED");
  expect(stdout).not.toContain(secret);
  expect(exitCode).not.toBe(null);
  expect([readFileSync(world.canary, "utf8")]).toEqual(before);
  expect(() => process.kill(world.pid, 0)).not.toThrow();
});

test("the corpus has at least 40 escape attempts", () => {
  expect(attempts.length).toBeGreaterThanOrEqual(40);
});

test.each(attempts.filter(({ control }) => control))(
  "without a sandbox this escape succeeds: $name",
  async ({ argv }) => {
    // A process of its own: the attempt may end it.
    const [program = "", ...rest] = argv({ ...world, pid: startProcess().pid ?? 0 });
    const stdout = await new Promise<string>((resolve) => {
      execFile(program, rest, { cwd: world.root, ...user }, (_, text) => resolve(text));
    });
    expect(stdout).toContain("ESCAPED");
  },
);

test.each(injections)("an argument is passed literally: %j", async (...given) => {
  const argv = given.map((each) => each.replace("{canary}", world.canary));
  expect((await run(["printf", "%s\\n", ...argv])).stdout).toBe(`${argv.join("\n")}\n`);
});

test.each([["--bind", "/", "/host"], ["--share-net", "true"], ["; true"], ["../../usr/bin/true;"], ["-"]])(
  "a program name is never read as an option: %s",
  async (...argv) => {
    const { exitCode, stdout } = await run(argv);
    expect([exitCode === 0, stdout]).toEqual([false, ""]);
  },
);

test.each<[string, Json]>([
  ["no program", []],
  ["an empty program", [""]],
  ["a text", "ls -la"],
  ["a number", [1]],
  ["a NUL character", ["ls", "a\0b"]],
  ["too many arguments", Array.from({ length: 300 }, () => "x")],
  ["too long arguments", ["x".repeat(100_001)]],
])("invalid input is refused: %s", async (_, argv) => {
  const tool = shell({ root: world.root, sandbox: bubblewrap() });
  await expect(callTool(tool, { argv })).rejects.toThrow(/bad input: argv/);
});

test.each(["..", "../outside", "/etc", "a/../../outside"])(
  "a working directory outside is refused: %s",
  async (cwd) => {
    await expect(run(["pwd"], {}, { cwd })).rejects.toThrow(/path .* (is absolute|has \.\.)/);
  },
);

test("a working directory that links outside is refused", async () => {
  await run(["ln", "-sfn", join(base, "outside"), "way-out"]);
  const { exitCode, stdout } = await run(["ls"], {}, { cwd: "way-out" });
  expect([exitCode, stdout]).toEqual([1, ""]);
});

test("a command gets no descriptor that the worker was started with", async () => {
  const fixture = join(import.meta.dirname, "fixtures/list-descriptors.ts");
  // Descriptor 40 is the canary. Node itself would leave it open for every program that it starts.
  const canary = openSync(world.canary, "r");
  const stdio = ["ignore", "pipe", "inherit", ...Array<"ignore">(37).fill("ignore"), canary] as const;
  const child = spawn(process.execPath, ["--conditions=reeve-source", fixture, world.root], {
    stdio: [...stdio],
  });
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(child, "close");
  closeSync(canary);
  const [plain, sandboxed] = text.split("=====");
  expect(plain).toContain(world.canary);
  expect(sandboxed).toContain("/dev/null");
  expect(sandboxed).not.toContain("canary");
});

test("a missing bwrap is an error with installation advice, and there is no fallback", () => {
  expect(() => bubblewrap({ path: "/nowhere/bwrap" })).toThrow(/apt-get install bubblewrap/);
  const path = process.env["PATH"];
  process.env["PATH"] = "/nowhere";
  expect(() => bubblewrap()).toThrow(/apt-get install bubblewrap/);
  process.env["PATH"] = path;
});

test("a bwrap that cannot start a sandbox is refused when the tool is made", () => {
  const fails = join(base, "bwrap");
  writeFileSync(fails, "#!/bin/sh\necho no namespaces >&2\nexit 1\n", { mode: 0o755 });
  const sandbox = bubblewrap({ path: fails });
  expect(() => shell({ root: world.root, sandbox })).toThrow(/no namespaces.*user namespaces/s);
});

test.runIf(isRoot)("a root folder of root is refused where the worker is root", () => {
  const folder = join(base, "of-root");
  mkdirSync(folder);
  expect(() => shell({ root: folder, sandbox: bubblewrap() })).toThrow(/must not run as root.*chown/);
});

test.each([{ timeoutS: 0 }, { maxProcesses: 0 }, { maxOutputBytes: 1.5 }, { maxMemoryBytes: Number.NaN }])(
  "an invalid limit is refused: %j",
  (limit) => {
    expect(() => shell({ root: world.root, sandbox: bubblewrap(), ...limit })).toThrow(RangeError);
  },
);

test("a run needs a permission to run a command, and another sandbox can be given", async () => {
  const commands: string[] = [];
  const sandbox: Sandbox = {
    check: () => undefined,
    run: async ({ argv }) => {
      commands.push(argv.join(" "));
      return { exitCode: 0, stdout: "ok", stderr: "", stopped: null };
    },
  };
  const tools = [shell({ root: world.root, sandbox })];
  const calling = call("run_command", { argv: ["ls"] });
  const model = scriptedModel([calling, say("done"), calling, calling, say("done")]);
  const refused = agent({ name: "refused", model, tools });
  const rule = permissions([{ tool: "run_command", verdict: "allow" }]);
  const allowed = agent({ name: "allowed", model, tools, permissions: rule });
  await using runtime = createRuntime({ agents: [refused, allowed] });
  await (await runtime.start(refused, "go")).result();
  expect(commands).toEqual([]);
  // The second call follows an untrusted and private result: nothing leaves through it.
  await (await runtime.start(allowed, "go")).result();
  expect(commands).toEqual(["ls", "ls"]);
});
