import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/*
 * Time differs between machines; the number of function calls does not. These limits are a little above the counts, so
 * a change that makes every run do more fails here. Lower them with each change that makes it do less.
 */
it("a run makes a bounded number of calls of functions", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=reeve-source",
    "bench/function-calls.mjs",
    "W1",
    "W2",
  ]);
  const counted: Record<string, number> = JSON.parse(stdout);
  expect(counted["W1"]).toBeLessThan(3_490);
  expect(counted["W2"]).toBeLessThan(21_500);
});
