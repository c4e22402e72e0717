import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Words that hide the actor or the thing, and the old story. The README's first sentence may say "hire". */
const banned =
  /\b(who(m|se)?ever|somebody|nobody|anybody|everybody|anew|meanwhile|besides|of which|boss|helpers?|hire[sd]?|digger|clerk|mill|miller|Odo)\b/gi;

const maxWordsOfCell = 15;
const linesBeforeCode = 10;
const pages = ["CONTRIBUTING.md", ...globSync("docs/**/*.md").toSorted()];

/** The text of a page without code, addresses of links, and names of test cases. */
const proseOf = (path: string): string =>
  readFileSync(path, "utf8")
    .replaceAll(/^```[\s\S]*?^```$/gm, "")
    .replaceAll(/`[^`\n]*`/g, "x")
    .replaceAll(/\]\([^)\s]*\)/g, "]")
    .replaceAll(/^ *- (?:Case|engine|store|x): .*$/gm, "");

/** The cells of all tables of a page. */
const cellsOf = (path: string): readonly string[] =>
  proseOf(path)
    .split("\n")
    .filter((line) => /^\|.*\|$/.test(line))
    .flatMap((line) => line.slice(1, -1).split(/(?<!\\)\|/));

const countWords = (text: string): number => text.split(/\s+/).filter((word) => /\w/.test(word)).length;

test.each(pages)("%s is in plain words, without long cells", (path) => {
  expect(proseOf(path).match(banned) ?? []).toEqual([]);
  expect(cellsOf(path).filter((cell) => countWords(cell) > maxWordsOfCell)).toEqual([]);
});

test.each(globSync("docs/guide/**/*.md").toSorted())(
  "%s begins with what its reader can do, and with code",
  (path) => {
    const page = readFileSync(path, "utf8");
    expect(page).toMatch(/^# .+\n\nAfter this page[, ]/);
    expect(page.split("\n").slice(0, linesBeforeCode).join("\n")).toContain("\n```");
    expect(proseOf(path)).not.toMatch(/^For who/m);
  },
);

test.each(["template/README.md", "template/agents.ts", "template/model.ts"])(
  "%s is in plain words",
  (path) => {
    expect(readFileSync(path, "utf8").match(banned) ?? []).toEqual([]);
  },
);

test("the README is in plain words, except for its headline", () => {
  expect(readFileSync("README.md", "utf8").match(banned)).toEqual(["hire"]);
});

test("the index of the documentation names every page", () => {
  const index = readFileSync("docs/README.md", "utf8");
  const listed = globSync(["docs/*.md", "docs/guide/*.md"]).filter((path) => path !== "docs/README.md");
  expect(listed.filter((path) => !index.includes(`(${path.replace("docs/", "")}`))).toEqual([]);
});
