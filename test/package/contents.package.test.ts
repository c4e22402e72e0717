import { execFile } from "node:child_process";
import { readFileSync, utimesSync } from "node:fs";
import { posix } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** A tarball, as npm describes it. */
interface Tarball {
  readonly integrity: string;
  readonly files: readonly { readonly path: string }[];
}

async function pack(): Promise<Tarball | undefined> {
  const { stdout } = await promisify(execFile)("npm", ["pack", "./package", "--dry-run", "--json"]);
  const [tarball]: Tarball[] = Object.values(JSON.parse(stdout));
  return tarball;
}

const packed = await pack();
const paths = new Set(packed?.files.map(({ path }) => path));
const manifest = readFileSync("package/package.json", "utf8");

test("the package holds code, types, guides, examples and the template, but no sources and no maps", () => {
  const kinds = new Set([...paths].map((path) => path.replace(/\/.*/, "")));
  const files = ["LICENSE", "README.md", "dist", "docs", "examples", "package.json", "template"];
  expect([...kinds].toSorted()).toEqual(files);
  expect(paths).toContain("docs/guide/agents.md");
  const inDist = [...paths].filter((path) => path.startsWith("dist/"));
  expect(inDist.filter((path) => /\.map$|(?<!\.d)\.ts$/.test(path))).toEqual([]);
});

test("every file that the manifest names is packed, and none for the condition of this repository", () => {
  const named = [...manifest.matchAll(/"\.\/([^"]+)"/g)].map(([, path = ""]) => path);
  const files = named.filter((path) => /\.\w+$/.test(path) && !path.includes("*"));
  expect(files.length).toBeGreaterThan(40);
  expect(files.filter((path) => !paths.has(path))).toEqual([]);
  expect(manifest).not.toContain("reeve-source");
});

test("every link of a packed page leads to a packed file, or to the repository", () => {
  const pages = [...paths].filter((path) => path.endsWith(".md"));
  const links = pages.flatMap((page) =>
    [...readFileSync(`package/${page}`, "utf8").matchAll(/\]\((?!\w+:|#)([^)\s#]+)/g)].map(
      ([, target = ""]) => posix.join(posix.dirname(page), target),
    ),
  );
  expect(links.length).toBeGreaterThan(100);
  const folders = new Set([...paths].map((path) => posix.dirname(path)));
  const isPacked = (link: string): boolean => paths.has(link) || folders.has(link.replace(/\/$/, ""));
  expect(links.filter((link) => !isPacked(link))).toEqual([]);
});

test("packing files with other timestamps gives the same bytes", async () => {
  for (const path of ["package.json", "README.md", "LICENSE"]) utimesSync(`package/${path}`, 1, 1);
  const again = await pack();
  expect(again?.integrity).toMatch(/^sha512-/);
  expect(again?.integrity).toBe(packed?.integrity);
});
