import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { patienceMs, sample } from "../effort.ts";

const project = resolve(import.meta.dirname, "../..");
const hook = join(import.meta.dirname, "fixtures/count-connections.ts");

/** Runs an example with flags of Node. Rejects where it fails. */
async function runWith(flags: readonly string[], example: string): Promise<string> {
  const argv = [...flags, "--conditions=reeve-source", join(project, "examples", `${example}.ts`)];
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stderr } = await promisify(execFile)(process.execPath, argv, {
    cwd: project,
    env,
    timeout: patienceMs(),
  });
  return stderr;
}

test.each(
  sample(
    ["01-one-agent", "02-tools", "03-team", "14-guardrails", "20-structured-output", "50-ask-human"],
    0.5,
  ),
)("%s runs without access to other files, processes, threads and native code", async (example) => {
  const flags = ["--permission", `--allow-fs-read=${project}`, "--disable-proto=throw"];
  expect(await runWith(flags, example)).toBe("");
});

test.each(sample(["01-one-agent", "03-team", "04-budgets", "50-ask-human"], 0.5))(
  "%s runs with frozen intrinsics",
  async (example) => {
    const stderr = await runWith(["--frozen-intrinsics", "--disable-proto=throw"], example);
    expect(stderr.replaceAll(/^.*(ExperimentalWarning|--trace-warnings).*$\n?/gm, "")).toBe("");
  },
);

test("the file tools work in a process that may open their folder and its own descriptors alone", async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-confined-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "notes.txt"), "the notes");
  await symlink("/etc/passwd", join(folder, "out.txt"));
  const places = [folder, "/proc/self/fd"];
  const access = [
    ...[project, ...places].map((path) => `--allow-fs-read=${path}`),
    ...places.map((path) => `--allow-fs-write=${path}`),
  ];
  const script = join(import.meta.dirname, "fixtures/confined-files.ts");
  const argv = ["--permission", ...access, "--conditions=reeve-source", script, folder];
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, argv, {
    env,
    timeout: patienceMs(),
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/the notes[^]*is a link, and links are not followed/);
  expect(await readFile(join(folder, "reports/june.md"), "utf8")).toBe("written");
});

test("a process without permissions cannot read, write or start anything else", async () => {
  const flags = ["--permission", `--allow-fs-read=${project}`, "-e"];
  const scripts = [
    'fs.readFileSync("/etc/passwd")',
    'fs.writeFileSync("/tmp/x", "")',
    'child_process.execSync("ls")',
  ];
  for (const script of scripts)
    await expect(promisify(execFile)(process.execPath, [...flags, script])).rejects.toThrow(
      /ERR_ACCESS_DENIED/,
    );
});

const sources = globSync("src/**/*.ts", { cwd: project }).map((path) => ({
  path,
  text: readFileSync(join(project, path), "utf8"),
}));

test("no source evaluates text as code", () => {
  const evaluating = /(?<![.\w])eval\(|\bnew Function\b|\bFunction\(|node:vm|["']vm["']|\beval: true/;
  const found = sources.filter(({ text }) => evaluating.test(text)).map(({ path }) => path);
  // Its worker thread is a constant text, for tests alone.
  expect(found).toEqual(["src/testing/engine-suite/stopwatch.ts"]);
});

test("no source unpacks archives or decodes images by itself", () => {
  const unpacking =
    /createBrotliDecompress|createInflate|["'](fflate|yauzl|tar|adm-zip|jszip|unzipper|sharp|jimp|pngjs)["']|\b(brotliDecompress|inflate\w*)\(|(?:\b|e)(un|gun)zip/i;
  const found = sources.filter(({ text }) => unpacking.test(text)).map(({ path }) => path);
  // The body of a response, with a limit of its bytes and its ratio.
  expect(found).toEqual(["src/net/response-body.ts"]);
});

// Every example runs with this hook, and fails if it complains: see run-example.ts.
test("the test detects a connection to another machine", async () => {
  const script =
    'fetch("http://192.0.2.1/").catch(() => 0); require("net").connect(80, "example.com").on("error", () => 0)';
  const running = promisify(execFile)(process.execPath, ["--import", hook, "-e", script]);
  await expect(running).rejects.toMatchObject({
    stderr: expect.stringMatching(/192\.0\.2\.1[^]*example\.com/),
  });
});
