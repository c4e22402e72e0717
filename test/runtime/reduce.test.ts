import { expect, test } from "vitest";
import { StoreRejectionError } from "#kernel";
import { reduce, writeOrReduce } from "../../src/runtime/reduce.ts";

test("a reduced value keeps ids, times, amounts and status, and fits into any column", () => {
  const value = {
    treeId: "books",
    status: "completed",
    startedAt: 1_768_000_000_000,
    costMicros: 12,
    endedAt: null,
    isPermanent: true,
    name: `a\0b${"x".repeat(300)}`,
    maxCostMicros: 9.3e18,
    minCostMicros: -9.3e18,
    lagMs: 1.5,
    parents: Array.from({ length: 30 }, (_, index) => index),
    absent: undefined,
  };
  expect(reduce(value)).toEqual({
    ...value,
    name: `a\u{FFFD}b${"x".repeat(253)}`,
    maxCostMicros: Number.MAX_SAFE_INTEGER,
    minCostMicros: -Number.MAX_SAFE_INTEGER,
    lagMs: 1,
    parents: Array.from({ length: 20 }, (_, index) => index),
  });
});

const written = async (
  failure: Error,
): Promise<{ values: readonly string[]; reasons: readonly string[]; error: unknown }> => {
  const values: string[] = [];
  const reasons: string[] = [];
  const write = async (value: string): Promise<void> => {
    values.push(value);
    if (value === "whole") throw failure;
  };
  const onReduced = async ({ message }: Error): Promise<void> => void reasons.push(message);
  const error = await writeOrReduce("whole", write, { shrink: () => "reduced", onReduced }).catch(
    (thrown: unknown) => thrown,
  );
  return { values, reasons, error };
};

test("only a value that the store rejects for good is reduced", async () => {
  const gone = new Error("connect ECONNREFUSED");
  expect(await written(gone)).toEqual({ values: ["whole"], reasons: [], error: gone });
  expect(await written(new StoreRejectionError({ reason: "22021" }))).toEqual({
    values: ["whole", "reduced"],
    reasons: ["the store rejects a value for good: 22021"],
    error: undefined,
  });
});
