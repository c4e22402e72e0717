import { existsSync, readFileSync } from "node:fs";
import { engineSuite, storeSuite } from "reeve/testing/suites";
import { expect, test } from "vitest";

const rules = readFileSync("docs/semantics.md", "utf8")
  .split(/^(?=- \*\*)/m)
  .slice(1)
  .map((text) => {
    const [, number = "", sentence = ""] = /^- \*\*([\d.]+)\*\* (.+)\n/.exec(text) ?? [];
    const tests = [...text.matchAll(/^ {2}- (engine|store|`test\/[\w./-]+`): (.+)$/gm)];
    return { number, sentence, tests: tests.map(([, where = "", title = ""]) => ({ where, title })) };
  });

const suites: Readonly<Record<string, readonly { readonly name: string }[]>> = {
  engine: engineSuite,
  store: storeSuite,
};

/** Whether a suite has a case, or a test file a title, with this text. */
function isThere({ where, title }: { readonly where: string; readonly title: string }): boolean {
  const suite = suites[where];
  if (suite !== undefined) return suite.some(({ name }) => name.includes(title));
  const path = where.replaceAll("`", "");
  return existsSync(path) && readFileSync(path, "utf8").includes(title);
}

test("every rule has a number, one short sentence and a test", () => {
  expect(rules.length).toBeGreaterThan(150);
  for (const { number, sentence, tests } of rules) {
    expect.soft(number).toMatch(/^\d+\.\d+$/);
    expect.soft(sentence).toMatch(/^[^.]+(\.[^ ][^.]*)*\.$/);
    expect.soft(sentence.split(/\s+/).length, sentence).toBeLessThanOrEqual(22);
    expect.soft(tests.length, sentence).toBeGreaterThan(0);
  }
});

test("every test that a rule names exists", () => {
  const named = rules.flatMap(({ tests }) => tests);
  expect(named.filter((each) => !isThere(each))).toEqual([]);
});
