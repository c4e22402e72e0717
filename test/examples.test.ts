import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { runExample } from "./run-example.ts";

test.each(globSync("examples/[0-9]*.ts").toSorted())("%s runs and its assertions hold", async (file) => {
  expect(await runExample(file)).toBe("");
});
