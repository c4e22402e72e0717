import { cancellationToken } from "#base";
import { CancellationError, RunId } from "reeve";
import { RunMeta } from "#kernel";
import { expect, test } from "vitest";

const standalone = (deadline: number | null = null): RunMeta =>
  RunMeta.standalone({
    runId: RunId.parse("t~0"),
    cancellation: cancellationToken(),
    traceId: "trace",
    spanId: "span",
    deadline,
  });

test("1.4 a standalone badge has no supervision and no tenant; a child has a child token and a new span", () => {
  const meta = standalone();
  expect(meta).toMatchObject({ supervision: null, tenantId: null, deadline: null });
  const child = RunMeta.child(meta, "inner");
  expect(child).toMatchObject({ spanId: "inner", traceId: "trace" });
  child.cancellation.cancel("only here");
  expect(meta.cancellation.cancelled).toBe(false);
});

test("4.2 check looks at the token first, then at the deadline; exactly at the deadline passes", () => {
  const meta = standalone(100);
  expect(() => RunMeta.check(meta, 100)).not.toThrow();
  expect(() => RunMeta.check(meta, 101)).toThrow(new CancellationError({ reason: "deadline" }));
  meta.cancellation.cancel("user");
  expect(() => RunMeta.check(meta, 101)).toThrow(new CancellationError({ reason: "user" }));
});
