import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the first program of the README runs as it stands, in under 25 lines", async () => {
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(code.trim().split("\n").length).toBeLessThan(25);
  const file = "test/readme-program.tmp.ts";
  writeFileSync(file, code);
  try {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ["--conditions=reeve-source", file], { timeout: 30_000 });
    expect(stdout).toContain("the mill was built in 1287");
    expect(stdout).toContain("status: 'completed'");
  } finally {
    rmSync(file);
  }
});
