import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

// Holds the language of comments, test names and documents: CONTRIBUTING.md, "Plain technical English".

const tracked = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean);
const code = tracked.filter((path) => /\.(?:ts|tsx|mjs)$/.test(path));

/** A documentation comment whose first word is a question word or "Of". A type is a noun, a function a verb. */
const questioning = /\/\*\*\s+(?:\* )?(?:What|Who|Whose|How|Where|Of)\b[^\n]*/g;

/** Words that hide the actor. */
const hiding = /\b(?:somebody|nobody|whoever)\b/i;

/** A line of a comment, a comment behind code, or the name of a test. Code and its strings have other rules. */
const prose =
  /^\s*(?:\/\/|\/?\*|#)|\s\/\/ |^\s*(?:(?:it|test|describe)\b|\]\))[^"'`]*\(["'`]|^\s*(?:name: )?"\d+\.\d/;

const isText = (path: string): boolean => /\.(?:ya?ml|sh|css)$|Dockerfile$|^\.ci\/run$/.test(path);

const lines = (path: string): readonly string[] => readFileSync(path, "utf8").split("\n");

test("no documentation comment begins with a question word", () => {
  const found = code
    .filter((path) => /^(?:src|ui|examples|bench|packaging|template|test)\//.test(path))
    .flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(questioning)].map(([text]) => `${path}: ${text.slice(0, 80)}`),
    );
  expect(found).toEqual([]);
});

test("comments, test names and documents name the actor", () => {
  const found = [...code, ...tracked.filter(isText)].flatMap((path) =>
    lines(path).flatMap((line, at) =>
      prose.test(line) && hiding.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [],
    ),
  );
  const pages = tracked
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) =>
      lines(path).flatMap((line, at) => (hiding.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
    );
  expect([...found, ...pages]).toEqual([]);
});
