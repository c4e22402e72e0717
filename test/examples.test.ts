import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test.each(globSync("examples/*.ts").toSorted())("%s runs and its assertions hold", async (file) => {
  const { stderr } = await run(process.execPath, ["--conditions=reeve-source", file], { timeout: 30_000 });
  expect(stderr).toBe("");
});
