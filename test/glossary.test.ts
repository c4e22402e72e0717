import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const rows = readFileSync("docs/glossary.md", "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| **"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, term = "", meaning = "", code = ""]) => ({ term, meaning, code }));

const source = globSync("src/**/*.ts", { exclude: ["src/testing/**"] })
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");

const hasIdentifier = (name: string): boolean =>
  new RegExp(`(?<![\\w.-])${name.replaceAll(".", "\\.")}(?![\\w-])`).test(source);

test("the glossary has at most 50 terms, each once", () => {
  const terms = rows.map(({ term }) => term);
  expect(terms.length).toBeLessThanOrEqual(50);
  expect(terms.length).toBeGreaterThan(0);
  expect(new Set(terms).size).toBe(terms.length);
});

test.each(rows)("$term has one short sentence, and identifiers that the source has", ({ meaning, code }) => {
  const names = [...code.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !hasIdentifier(name))).toEqual([]);
  expect(meaning).toMatch(/^[A-Z].*\.$/);
  expect(meaning.split(/\s+/).length).toBeLessThanOrEqual(15);
});
