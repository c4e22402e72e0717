import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { agentsPerTree, need, profiles, tableOf, units } from "../../bench/capacity.ts";

/** A table without the blanks and dashes that only line it up. */
const cells = (text: string): string => text.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");

test.each(Object.entries(units))("the source of %s still has the quoted figure", (_, { source, says }) => {
  expect(readFileSync(source, "utf8")).toContain(says);
});

test.each(profiles)("the page shows the computed table of $name agents", (profile) => {
  expect(cells(readFileSync("docs/guide/capacity.md", "utf8"))).toContain(cells(tableOf(profile)));
});

test("the figures in the page's text are in its tables", () => {
  const page = readFileSync("docs/guide/capacity.md", "utf8");
  const words = page.slice(page.indexOf("## What breaks first")).replaceAll("\n", " ");
  const computed = profiles.map(tableOf).join("\n");
  const told = [...words.matchAll(/([\d.,]+ [GT]B) a day|\(([\d.,]+ GB)\)|([\d.,]+) cores/g)];
  expect(told.length).toBeGreaterThan(7);
  for (const [, ...figures] of told)
    expect(computed).toContain(`| ${figures.find((figure) => figure !== undefined)} |`);
});

test("twice the agents need twice the resources", () => {
  const [busy] = profiles;
  if (!busy) throw new Error("there is no profile");
  const [one, two] = [need(1_000, busy), need(2_000, busy)];
  for (const [name, amount] of Object.entries(one))
    expect([name, Object.entries(two).find(([other]) => other === name)?.[1]]).toEqual([name, 2 * amount]);
});

test("the sums equal a manual calculation", () => {
  const given = { name: "test", secondsPerCycle: 10, cyclesPerRun: 4, inMemory: 0.5 };
  const { cyclesPerS, cores, eventsPerS, restateBytes } = need(100, given);
  expect([cyclesPerS, eventsPerS, restateBytes]).toEqual([10, 80, 9_400_000]);
  // 10 cycles of 13.3 ms and 2.5 runs of 10 ms in a second, at 60 %.
  expect(cores).toBeCloseTo(0.2633, 4);
  expect(agentsPerTree(given)).toBe(869);
});
