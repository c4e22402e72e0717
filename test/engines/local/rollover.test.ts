import { local } from "reeve/engines/local";
import { test } from "vitest";
import { showRollover } from "../rollover-case.ts";

test("3.3 a call is charged to the day in which it was reserved", async () => {
  await showRollover(local(), async () => undefined);
});
