import { globSync, readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";
import { check } from "recheck";
import { expect, test } from "vitest";
import { hideSecrets } from "../../src/kernel/hide-secrets.ts";
import { sensitive } from "../../src/agents/middleware/sensitive.ts";
import { classifyError } from "../../src/models/classify-error.ts";
import { cpuMs } from "../cpu-time.ts";

/** Files whose long patterns the checker cannot decide. The second test measures them. */
const measured = new Set([
  "src/agents/middleware/sensitive.ts",
  "src/kernel/hide-secrets.ts",
  "src/models/classify-error.ts",
]);

interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly file: string;
}

/** Every expression of the source, but for test doubles, and the command line: it reads files of its own user. */
function readPatterns(): readonly Pattern[] {
  const found: Pattern[] = [];
  for (const file of globSync("src/**/*.ts", { exclude: ["src/testing/**", "src/cli/**"] })) {
    const { program } = parseSync(file, readFileSync(file, "utf8"));
    new Visitor({
      Literal: (node) => {
        if ("regex" in node) found.push({ source: node.regex.pattern, flags: node.regex.flags, file });
      },
    }).visit(program);
  }
  return found;
}

test("no expression of the source takes more than linear time", { timeout: 600_000 }, async () => {
  const patterns = readPatterns();
  expect(patterns.length).toBeGreaterThan(80);
  const judged: string[] = [];
  for (const { source, flags, file } of patterns.filter((pattern) => !measured.has(pattern.file))) {
    const { status } = await check(source, flags, { timeout: 30_000 });
    if (status !== "safe") judged.push(`${status}: ${file} /${source}/${flags}`);
  }
  expect(judged).toEqual([]);
  // The checker itself can tell.
  expect(await check("(a+)+$", "")).toMatchObject({ status: "vulnerable" });
});

const megabyte = 1_000_000;
const bait = [
  "a",
  "1",
  " ",
  "1 ",
  "sk-",
  "a@",
  "a.",
  "a@a.",
  "eyJ",
  "eyJa.",
  "GB12",
  "+1 ",
  "(12) ",
  "Bearer ",
];
const messages = [
  "fblocked by y",
  "blocked by ",
  "blocked by a ",
  "rexceed s",
  "exceeds the ",
  "exceeds a ",
  "context ",
];

const repeat = (piece: string): string => `${piece.repeat(megabyte / piece.length)}!`;

test.each(bait)("a megabyte of %j is looked through in time linear in its length", (piece) => {
  const text = repeat(piece);
  const tries = [
    ...sensitive.map(
      ({ looks }) =>
        () =>
          text.replace(looks, ""),
    ),
    () => hideSecrets(text),
  ];
  for (const look of tries) expect(cpuMs(() => void look())).toBeLessThan(1_500);
});

test.each(messages)("a message of a provider that is a megabyte of %j is classified at once", (piece) => {
  const error = { statusCode: 400, message: repeat(piece) };
  expect(cpuMs(() => void classifyError(error))).toBeLessThan(500);
});
