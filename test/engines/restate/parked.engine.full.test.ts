import { expect, test } from "vitest";
import { parkRuns } from "./scenarios/parked.ts";

test("150 parked runs leave the worker's memory, and end after worker and server were killed", async () => {
  const { idle, parked, completed } = await parkRuns(150);
  expect(parked.executions).toBe(0);
  expect(parked.heapBytes - idle.heapBytes).toBeLessThan(20e6);
  expect(completed).toBe(150);
});
