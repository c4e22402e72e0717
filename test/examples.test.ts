import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sample } from "./effort.ts";
import { confine, runExample } from "./run-example.ts";

const startsServer = (file: string): boolean => readFileSync(file, "utf8").includes("restateServer");
const files = globSync("examples/[0-9]*.ts").filter((file) => !startsServer(file));

test.each(sample(files.toSorted(), 0.4))("%s runs and its assertions hold", async (file) => {
  expect(await runExample(file, { flags: confine(file) })).toBe("");
});
