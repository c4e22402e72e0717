import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Words that hide the actor or the thing, and the old story. The README's first sentence may say "hire". */
const banned =
  /\b(who(m|se)?ever|somebody|nobody|anybody|everybody|anew|meanwhile|besides|of which|boss|helpers?|hire[sd]?|digger|clerk|mill|miller|Odo)\b/gi;

/** A reader decides on the first screen whether to go on. */
const linesOfScreen = 40;

const firstScreen = (path: string): string =>
  readFileSync(path, "utf8").split("\n").slice(0, linesOfScreen).join("\n");

test.each(globSync("docs/guide/**/*.md").toSorted())("the first screen of %s is in plain words", (path) => {
  expect(firstScreen(path).match(banned) ?? []).toEqual([]);
  expect(firstScreen(path)).not.toMatch(/^For /m);
});

test.each(["docs/README.md", "template/README.md", "template/agents.ts", "template/model.ts"])(
  "%s is in plain words",
  (path) => {
    expect(readFileSync(path, "utf8").match(banned) ?? []).toEqual([]);
  },
);

test("the README is in plain words, but for its headline", () => {
  expect(readFileSync("README.md", "utf8").match(banned)).toEqual(["hire"]);
});

test("the index of the documentation names every page", () => {
  const index = readFileSync("docs/README.md", "utf8");
  const pages = globSync(["docs/*.md", "docs/guide/*.md"]).filter((path) => path !== "docs/README.md");
  expect(pages.filter((path) => !index.includes(`(${path.replace("docs/", "")}`))).toEqual([]);
});
