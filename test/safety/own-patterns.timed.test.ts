import { globSync, readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";
import { check } from "recheck";
import { expect, test } from "vitest";
import { hideSecrets } from "../../src/kernel/hide-secrets.ts";
import { sensitive } from "../../src/agents/middleware/sensitive.ts";
import { classifyError } from "../../src/models/classify-error.ts";
import { cpuMs } from "../cpu-time.ts";
import { expectWithin, isFull, sample } from "../effort.ts";

/**
 * The checker is bounded by numbers of characters and of tries, and its chance has a fixed seed. Its limits of time are off:
 * with them a verdict would depend on the load of the machine.
 */
const withoutTimeouts = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
} as const;

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

const patterns = readPatterns();

test("the expressions of the source are found", () => {
  expect(patterns.length).toBeGreaterThan(80);
});

// A test for each: some take seconds to check, and all of them together may take a minute on a busy machine.
test.each(sample(patterns, 0.4, ({ source }) => source))(
  "$file: /$source/ takes no more than linear time",
  async ({ source, flags }) => {
    expect(await check(source, flags, withoutTimeouts)).toMatchObject({ status: "safe" });
  },
);

test.each(["(a+)+$", "[\\w.]+@x"])("the checker finds that /%s/ takes more than linear time", async (bad) => {
  expect(await check(bad, "", withoutTimeouts)).toMatchObject({ status: "vulnerable" });
});

const megabyte = 1_000_000;
const label = "a".repeat(63);
const bait = [
  "a",
  "A",
  "1",
  " ",
  "-",
  "+",
  "%",
  "@",
  "1 ",
  "12-",
  "123 ",
  "1111 1111 1111 1111 ",
  "sk-",
  "a@",
  "a.",
  "a@a.",
  "a@b.co",
  "a@b.com-",
  `a@${"a.".repeat(8)}`,
  `a@${label}.`,
  `${label}a@`,
  "eyJ",
  "eyJa.",
  "eyJaaaaaaaaaaa.",
  "xoxb-",
  "ghp_",
  "AIza",
  "A1",
  "(123)1",
  "4111 1111 ",
  "GB12",
  "GB12 ABCD ",
  "+1 ",
  "(12) ",
  "Bearer ",
  "Bearer a",
  "://",
  `://${label}a:`,
  "://a:a",
  "key='",
  "key=ab",
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

/**
 * Takes the least of five: the first also compiles the expression, and caches are shared with other processes. Once is
 * enough where no time is held to: an expression that takes more than linear time does not end within the test.
 */
const leastCpuMs = (act: () => unknown): number =>
  Math.min(...Array.from({ length: isFull ? 5 : 1 }, () => cpuMs(() => void act())));

const limitMs = 50;

test.each(bait)("a megabyte of %j is scanned within 50 ms of processor time", (piece) => {
  const text = repeat(piece);
  for (const { name, looks, length } of sensitive)
    expectWithin(
      limitMs,
      leastCpuMs(() => text.replace(looks, (found) => found.slice(length?.(found) ?? 0))),
      name,
    );
  expectWithin(
    limitMs,
    leastCpuMs(() => hideSecrets(text)),
  );
});

test.each(messages)("a message of a provider that is a megabyte of %j is classified at once", (piece) => {
  const error = { statusCode: 400, message: repeat(piece) };
  expectWithin(
    limitMs,
    leastCpuMs(() => classifyError(error)),
  );
});
