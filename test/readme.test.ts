import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { readme } from "./package/readme.ts";
import { patienceMs } from "./effort.ts";

test("the first program of the README has under 30 lines and prints the output in the README", async () => {
  expect(readme.program.trim().split("\n").length).toBeLessThan(30);
  const file = "test/readme-program.tmp.ts";
  writeFileSync(file, readme.program);
  try {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["--conditions=reeve-source", file], {
      timeout: patienceMs(),
    });
    expect(stdout).toContain("\n40 lead run.end\n");
    expect(stdout).toContain("output: 'Lisbon has 575,739 inhabitants.'");
    expect(stdout).toContain(readme.receipt);
  } finally {
    rmSync(file);
  }
});
