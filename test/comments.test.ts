import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

// Holds the language of names, comments, strings and documents: CONTRIBUTING.md, "Plain technical English".

const tracked = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean);
const code = tracked.filter((path) => /\.(?:ts|tsx|mjs)$/.test(path));

/** A documentation comment whose first word is a question word or "Of". A type is a noun, a function a verb. */
const questioning = /\/\*\*\s+(?:\* )?(?:What|Who|Whose|How|Where|Of)\b[^\n]*/g;

/** Words that hide the actor, also inside a name. `nobody-below` is an old value that is upgraded when it is read. */
const hiding = /[Ss]omebody|[Nn]obody(?!-below)|[Ww]hoever/;

/** The tests that list these words. */
const wordLists = new Set(["test/comments.test.ts", "test/words.test.ts"]);

const isText = (path: string): boolean => /\.(?:md|ya?ml|sh|css)$|Dockerfile$|^\.ci\/run$/.test(path);

const lines = (path: string): readonly string[] => readFileSync(path, "utf8").split("\n");

test("no documentation comment begins with a question word", () => {
  const found = code
    .filter((path) => /^(?:src|ui|examples|bench|packaging|template|test)\//.test(path))
    .flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(questioning)].map(([text]) => `${path}: ${text.slice(0, 80)}`),
    );
  expect(found).toEqual([]);
});

test("names, strings, comments and documents name the actor", () => {
  const found = [...code, ...tracked.filter(isText)]
    .filter((path) => !wordLists.has(path))
    .flatMap((path) =>
      lines(path).flatMap((line, at) => (hiding.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
    );
  expect(found).toEqual([]);
});
