import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const project = resolve(import.meta.dirname, "../..");

/** A package of the lock file. */
interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const { packages }: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  readFileSync(join(project, "package-lock.json"), "utf8"),
);

const locked = Object.entries(packages).filter(([path]) => path !== "");

/** Whether a package is an optional build for another platform than the one that builds and tests run on. */
const isForeign = ({ optional, os, cpu, libc }: Locked, path: string): boolean =>
  optional === true &&
  (path.includes("wasm32") ||
    os?.includes("linux") === false ||
    cpu?.includes("x64") === false ||
    libc?.includes("glibc") === false);

/** Returns why a package of the lock is not accepted; null if it is. */
function findLockProblem(entry: Locked, path = ""): string | null {
  const { version = "", resolved, integrity, link } = entry;
  if (link === true || !/^\d+\.\d+\.\d+/.test(version)) return "it is not a version of a registry";
  if (resolved !== undefined && !resolved.startsWith("https://registry.npmjs.org/"))
    return `it is from ${resolved}`;
  if (integrity === undefined) return isForeign(entry, path) ? null : "it has no hash";
  return /^sha512-[\w+/]{86}==$/.test(integrity) ? null : "its hash is weak";
}

test("every locked package is a version of the registry, with a hash of its content", () => {
  expect(locked.length).toBeGreaterThan(500);
  for (const [path, entry] of locked) expect.soft(findLockProblem(entry, path), path).toBeNull();
});

test.each([
  [{ version: "1.0.0" }, "it has no hash"],
  [{ version: "1.0.0", integrity: "sha1-x" }, "its hash is weak"],
  [{ version: "git+ssh://git@github.com/a/b.git#1" }, "it is not a version of a registry"],
  [{ link: true, version: "1.0.0" }, "it is not a version of a registry"],
  [{ version: "1.0.0", resolved: "http://registry.npmjs.org/a" }, "it is from http://registry.npmjs.org/a"],
  [{ version: "1.0.0", optional: true, os: ["linux"], cpu: ["x64"] }, "it has no hash"],
  [{ version: "1.0.0", optional: true, os: ["darwin"] }, null],
])("the dependency record of %j is reported as: %s", (entry, problem) => {
  expect(findLockProblem(entry)).toBe(problem);
});

const dayMs = 86_400_000;

const describeVersion = (version: string): object => ({
  name: "fresh",
  version,
  dist: { tarball: "http://127.0.0.1:1/fresh.tgz", integrity: `sha512-${"A".repeat(86)}==` },
});

const daysAgo = (days: number): string => new Date(Date.now() - days * dayMs).toISOString();

/** Serves one package with a version of a month ago and one of yesterday. */
async function serveRegistry(): Promise<{ readonly url: string } & AsyncDisposable> {
  const body = JSON.stringify({
    name: "fresh",
    "dist-tags": { latest: "1.1.0" },
    versions: { "1.0.0": describeVersion("1.0.0"), "1.1.0": describeVersion("1.1.0") },
    time: { created: daysAgo(30), modified: daysAgo(1), "1.0.0": daysAgo(30), "1.1.0": daysAgo(1) },
  });
  const server = createServer((_, response) =>
    response.setHeader("content-type", "application/json").end(body),
  );
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => promisify(server.close.bind(server))(),
  };
}

test("npm takes no version that is younger than a week", async () => {
  await using registry = await serveRegistry();
  const folder = mkdtempSync(join(tmpdir(), "reeve-registry-"));
  try {
    copyFileSync(join(project, ".npmrc"), join(folder, ".npmrc"));
    writeFileSync(join(folder, "package.json"), '{"name":"probe","dependencies":{"fresh":"^1.0.0"}}');
    const argv = [
      "install",
      "--package-lock-only",
      "--no-audit",
      `--registry=${registry.url}`,
      `--cache=${folder}/c`,
    ];
    await promisify(execFile)("npm", argv, { cwd: folder });
    const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
    expect(lock.packages["node_modules/fresh"].version).toBe("1.0.0");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
