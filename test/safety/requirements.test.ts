import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const rows = readFileSync("docs/security-requirements.md", "utf8")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter(([, id = ""]) => /^S\d+$/u.test(id))
  .map(([, id = "", , state = "", tests = ""]) => ({
    id,
    state,
    tests: [...tests.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name),
  }));

test("all 45 requirements are listed, each with a state", () => {
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 45 }, (_, index) => `S${index + 1}`));
  for (const { id, state } of rows) expect.soft(state, id).toMatch(/^held$|^(partly|not built): \S/u);
});

test.each(rows)("$id names tests that exist, and none where nothing is built", ({ state, tests }) => {
  expect(tests.length > 0).toBe(!state.startsWith("not built"));
  for (const name of tests) expect.soft(existsSync(`test/${name}.test.ts`), name).toBe(true);
});
