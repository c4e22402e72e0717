import { readFile } from "node:fs/promises";
import { optionTable, pictureRules } from "#models";
import { expect, test } from "vitest";

const cell = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(", ");

const lines = optionTable.map(({ families, names, treatment, freeValues = [], why }) => {
  const unless = freeValues.length > 0 ? `, except ${cell(freeValues)}` : "";
  return [families.join(", "), cell(names), treatment + unless, why];
});

/** The rows of the first table of the guide behind a mark. */
async function rowsBehind(mark: string): Promise<readonly (readonly string[])[]> {
  const guide = await readFile(new URL("../../docs/guide/provider-options.md", import.meta.url), "utf8");
  const [table = ""] = guide.slice(guide.indexOf(mark)).split("\n\n").slice(1);
  const cells = table.trim().split("\n").slice(2);
  return cells.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((text) => text.trim()),
  );
}

test("the guide shows the current table of provider options", async () => {
  expect(await rowsBehind("<!-- table -->")).toEqual(lines);
});

test("the guide shows the current bounds of pictures", async () => {
  const bounds = pictureRules.map(({ models, maxTokens }) => [models, maxTokens.toLocaleString("en-US")]);
  expect(await rowsBehind("<!-- pictures -->")).toEqual(bounds);
});

test("the table has each option of a family once", () => {
  const places = optionTable.flatMap(({ families, names }) =>
    families.flatMap((family) => names.map((name) => `${family}.${name}`)),
  );
  expect(places).toEqual([...new Set(places)]);
});
