import { globSync, readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { createRuntime } from "reeve";
import { expect, test } from "vitest";
import { costTable } from "./cost-table.ts";
import { Team, type CostCase, type Size } from "./cost-team.ts";

const folder = "docs/guide/architectures";
const pages = globSync(`${folder}/*.md`).toSorted();

/** Computes a formula for a size. */
const evaluate = (formula: string, size: Size): unknown =>
  runInNewContext(formula.replaceAll("×", "*"), { ...size });

const describeSize = (size: Size): string =>
  Object.entries(size)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

const measured = costTable.flatMap((each) => each.sizes.map((size) => ({ ...each, size })));

test.each(measured.map((each) => [`${each.page}, ${each.when}: ${describeSize(each.size)}`, each] as const))(
  "%s makes as many model calls as its formula says",
  async (_, { make, size, leader, workers, means }) => {
    const team = new Team();
    const lead = make(team, size);
    expect(lead.architecture?.needsModel ?? false).toBe(means !== null);
    await using runtime = createRuntime({ agents: [lead] });
    const run = await runtime.start(lead, "Do it.", { spawn: { maxAgents: 100 } });
    const { status } = await run.result();
    expect(["completed", "landed"]).toContain(status);
    expect([team.leader, team.workers]).toEqual([evaluate(leader, size), evaluate(workers, size)]);
  },
);

/** Returns the rows of all tables of a page, each as its cells. */
const rowsOf = (page: string): readonly string[] =>
  readFileSync(page, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .join("|"),
    );

/** Returns the rows that a page must have for a way of its strategy. */
function rowsFor({ when, means, leader, workers, sizes }: CostCase): readonly string[] {
  const byLeader = means === null ? "none" : `\`${means}\`: ${leader}`;
  const total = (size: Size): string => `${Number(evaluate(leader, size)) + Number(evaluate(workers, size))}`;
  return [
    `|${when}|${byLeader}|${workers}|`,
    ...sizes.map((size) => `|${when}: ${describeSize(size)}|${total(size)}|`),
  ];
}

test("every strategy has a page, and every page has a strategy", () => {
  expect(pages).toEqual([...new Set(costTable.map(({ page }) => `${folder}/${page}.md`))].toSorted());
});

test.each(pages)("%s shows the measured formulas and figures", (page) => {
  const cases = costTable.filter((each) => page === `${folder}/${each.page}.md`);
  const rows = rowsOf(page);
  expect(cases.flatMap(rowsFor).filter((row) => !rows.includes(row))).toEqual([]);
  expect(rows.filter((row) => /^\|[^|]*\|\d+\|$/.test(row))).toHaveLength(
    cases.flatMap(({ sizes }) => sizes).length,
  );
});

test.each(pages)("%s shows the code of an example of less than 60 lines", (page) => {
  const text = readFileSync(page, "utf8");
  const [, example = ""] = /\]\(\.\.\/\.\.\/\.\.\/(examples\/\d+-[\w-]+\.ts)\)/.exec(text) ?? [];
  const code = readFileSync(example, "utf8");
  expect(code.split("\n").length).toBeLessThan(60);
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  expect(blocks.length).toBeGreaterThan(0);
  expect(blocks.filter((block) => !code.includes(block))).toEqual([]);
  expect(text).toMatch(/^```mermaid$/m);
});

test("the index of the architectures names every page", () => {
  const index = readFileSync("docs/guide/architectures.md", "utf8");
  const names = [...new Set(costTable.map(({ page }) => page))];
  expect(names.filter((name) => !index.includes(`(architectures/${name}.md)`))).toEqual([]);
});
