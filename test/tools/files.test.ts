import { execFileSync } from "node:child_process";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { agent, createRuntime, permissions } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { files } from "reeve/tools";
import { afterEach, expect, test } from "vitest";
import { callTool, tryTool } from "./call-tool.ts";
import { hostilePaths } from "./paths.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const secret = "CANARY-5d1f";

/** Makes a root with one ordinary file, and a folder beside it that has the canary. */
function setUp(): { readonly base: string; readonly root: string; readonly outside: string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "reeve-files-")));
  folders.push(base);
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  mkdirSync(join(root, "inside"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "canary.txt"), secret);
  writeFileSync(join(root, "inside/file.txt"), "ordinary");
  return { base, root, outside };
}

/** Returns everything in a folder with its content, to compare. */
const snapshot = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path} ${entry.isFile() ? readFileSync(path, "utf8") : "-"}`;
    })
    .toSorted();

test("files are written with their folders, listed and read", async () => {
  const { root } = setUp();
  const { read, list, write } = files(root);
  expect(await callTool(write, { path: "reports/2026/may.md", text: "Grüße" })).toEqual({
    path: "reports/2026/may.md",
    bytes: 7,
  });
  expect(await callTool(read, { path: "./reports//2026/may.md" })).toBe("Grüße");
  expect(await callTool(list, { path: "." })).toEqual([
    { name: "inside", kind: "folder" },
    { name: "reports", kind: "folder" },
  ]);
  expect(await callTool(list, { path: "reports/2026" })).toEqual([
    { name: "may.md", kind: "file", bytes: 7 },
  ]);
  await callTool(write, { path: "reports/2026/may.md", text: "short" });
  expect(await callTool(read, { path: "reports/2026/may.md" })).toBe("short");
  expect(readdirSync(join(root, "reports/2026"))).toEqual(["may.md"]);
});

test("a long file is read in parts that end between characters", async () => {
  const { root } = setUp();
  writeFileSync(join(root, "long.txt"), "aé€😀".repeat(3));
  const { read } = files(root, { maxReadBytes: 7 });
  let from = 0;
  let whole = "";
  for (let part = 0; part < 20; part++) {
    const text = String(await callTool(read, { path: "long.txt", from }));
    const more = /\n\[\d+ more bytes: continue from (\d+)\]$/.exec(text);
    whole += more ? text.slice(0, more.index) : text;
    if (!more) break;
    from = Number(more[1]);
  }
  expect(whole).toBe("aé€😀".repeat(3));
  expect(await tryTool(read, { path: "long.txt", from: 2 })).toMatch(/not UTF-8 text from byte 2/);
  expect(await tryTool(read, { path: "long.txt", from: -1 })).toMatch(/from must be an integer >= 0/);
});

test("limits hold for files, texts and folders", async () => {
  const { root } = setUp();
  const { list, write } = files(root, { maxWriteBytes: 4, maxEntries: 1 });
  expect(await tryTool(write, { path: "a", text: "ééé" })).toMatch(/6 bytes; at most 4/);
  await callTool(write, { path: "a", text: "éé" });
  expect(await tryTool(list, { path: "." })).toMatch(/more than 1 entries/);
});

test("a file that has a second name, or is not a regular file, is not read", async () => {
  const { root, outside } = setUp();
  linkSync(join(outside, "canary.txt"), join(root, "hard-link"));
  execFileSync("/usr/bin/mkfifo", [join(root, "pipe")]);
  const { read, write } = files(root);
  expect(await tryTool(read, { path: "hard-link" })).toMatch(/second hard link/);
  expect(await tryTool(read, { path: "pipe" })).toMatch(/not a regular file/);
  expect(await tryTool(write, { path: "pipe", text: "x" })).toMatch(/not a regular file/);
  // Writing gives the name a file of its own: the other name keeps its content.
  await callTool(write, { path: "hard-link", text: "mine" });
  expect(readFileSync(join(outside, "canary.txt"), "utf8")).toBe(secret);
});

test("a file that is replaced keeps its mode, without setuid", async () => {
  const { root } = setUp();
  writeFileSync(join(root, "run.sh"), "old");
  execFileSync("/usr/bin/chmod", ["4750", join(root, "run.sh")]);
  await callTool(files(root).write, { path: "run.sh", text: "new" });
  expect(statSync(join(root, "run.sh")).mode & 0o7777).toBe(0o750);
});

test("no path of the corpus reads, lists or writes anything outside the root", async () => {
  const { base, root, outside } = setUp();
  symlinkSync(outside, join(root, "link-out"));
  symlinkSync(join(outside, "canary.txt"), join(root, "link-file"));
  symlinkSync("/", join(root, "link-root"));
  symlinkSync("/proc/self/root", join(root, "link-proc"));
  symlinkSync("link-loop", join(root, "link-loop"));
  symlinkSync("../..", join(root, "inside/link-up"));
  symlinkSync("/dev/zero", join(root, "device"));
  linkSync(join(outside, "canary.txt"), join(root, "hard-link"));
  execFileSync("/usr/bin/mkfifo", [join(root, "pipe")]);
  const server = createServer().listen(join(root, "socket"));
  const before = [...snapshot(outside), ...readdirSync(base)];
  const { read, list, write } = files(root, { hidden: true });
  const up = relative(root, join(outside, "canary.txt"));
  const paths = hostilePaths.map((path) =>
    path.replace("{up}", up).replace("{abs}", join(outside, "canary.txt")),
  );
  expect(new Set(paths).size).toBeGreaterThanOrEqual(120);
  const escapes: string[] = [];
  for (const path of paths) {
    const [text, listed] = [await tryTool(read, { path }), await tryTool(list, { path })];
    await tryTool(write, { path, text: "written by the tool" });
    if (text.includes(secret) || text.includes("root:x:")) escapes.push(path);
    if (!listed.startsWith("error: ") && /canary|"etc"|"outside"/.test(listed)) escapes.push(path);
    if (JSON.stringify([...snapshot(outside), ...readdirSync(base)]) !== JSON.stringify(before))
      escapes.push(path);
  }
  server.close();
  expect(escapes).toEqual([]);
});

test("hidden files are refused and not listed by default", async () => {
  const { root } = setUp();
  writeFileSync(join(root, ".env"), secret);
  const { read, list, write } = files(root);
  for (const path of [".env", "inside/../.env", ".git/config", "inside/.x/y"])
    expect(await tryTool(read, { path })).toMatch(/^error: bad input: path/);
  expect(await tryTool(write, { path: ".git/hooks/pre-commit", text: "x" })).toMatch(/hidden name/);
  expect(JSON.stringify(await callTool(list, { path: "." }))).not.toContain(".env");
  expect(await callTool(files(root, { hidden: true }).read, { path: ".env" })).toBe(secret);
});

test("a run reads without approval, writes with a permission, and its reads are untrusted and private", async () => {
  const { root } = setUp();
  const { read, write } = files(root);
  const reading = call("read_file", { path: "inside/file.txt" });
  const writing = call("write_file", { path: "copy.txt", text: "ordinary" });
  const model = scriptedModel([reading, writing, say("done"), reading, writing, say("done")]);
  const refused = agent({ name: "refused", model, tools: [read, write] });
  const allowed = agent({
    name: "allowed",
    model,
    tools: [read, write],
    permissions: permissions([{ tool: "write_file", verdict: "allow" }]),
  });
  await using runtime = createRuntime({ agents: [refused, allowed] });
  await (await runtime.start(refused, "copy it")).result();
  expect(readdirSync(root)).toEqual(["inside"]);
  await (await runtime.start(allowed, "copy it")).result();
  expect(readFileSync(join(root, "copy.txt"), "utf8")).toBe("ordinary");
  expect([read.trust, read.sensitivity, write.risk]).toEqual(["untrusted", "private", "high"]);
});

test("a root that is not a folder is refused when the tools are made", () => {
  const { root } = setUp();
  expect(() => files(join(root, "missing"))).toThrow(/is not a folder/);
  expect(() => files(join(root, "inside/file.txt"))).toThrow(/is not a folder/);
});
