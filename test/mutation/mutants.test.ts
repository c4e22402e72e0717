import { expect, test } from "vitest";
import { functionAround, functionsOf, instrument } from "./functions.ts";
import { apply, mutantsOf } from "./mutants.ts";

const source = `
import { limit } from "./limit.ts";
type Kind = "a" | "b";
export function fits(used: number, kind: Kind): boolean {
  if (kind === "b" && used > 0) return false;
  note(used ?? 0);
  return used + 1 <= Math.max(limit, 20);
}
export const twice = (list: readonly number[]) => list.filter((each) => !each);
`;

const changes = (text: string): readonly string[] =>
  mutantsOf("file.ts", text).map((mutant) => `${mutant.was} -> ${mutant.becomes}`);

test("every kind of place that means something has mutants, and types and imports have none", () => {
  expect(changes(source)).toEqual(
    expect.arrayContaining([
      'kind === "b" && used > 0 -> false',
      'kind === "b" && used > 0 -> true',
      'kind === "b" && used > 0 -> kind === "b" || used > 0',
      'kind === "b" -> kind !== "b"',
      '"b" -> "mutated"',
      "used > 0 -> used >= 0",
      "false -> true",
      "note(used ?? 0); -> ;",
      "used ?? 0 -> (used)",
      "used ?? 0 -> (0)",
      "used + 1 -> used - 1",
      "max -> min",
      "20 -> 200",
      "list.filter((each) => !each) -> list",
      "!each -> (each)",
    ]),
  );
  expect(changes(source).join("\n")).not.toMatch(/limit\.ts|"a"/);
  expect(changes('throw new Error("for people");')).toEqual(['throw new Error("for people"); -> ;']);
});

test("a mutant changes its place and nothing else", () => {
  const dropped = mutantsOf("file.ts", source).find(({ was }) => was === "note(used ?? 0);");
  expect(dropped?.id).toBe("file.ts:6:3 drop statement");
  expect(dropped && apply(source, dropped)).toBe(source.replace("note(used ?? 0);", ";"));
});

test("an instrumented source reports the functions that it enters", () => {
  const starts = functionsOf(source).map(({ start }) => start);
  const reported = [...instrument("file.ts", source).matchAll(/"file\.ts:(\d+)"/g)].map(([, start]) =>
    Number(start),
  );
  expect(reported.toSorted((a, b) => a - b)).toEqual(starts.toSorted((a, b) => a - b));
  const place = source.indexOf("!each");
  expect(functionAround(functionsOf(source), place)).toBe(source.indexOf("(each) =>"));
});
