import { RunId, TreeId } from "reeve";
import { SpanId, TraceParent } from "#kernel";
import { StepId } from "reeve/store";
import { expect, test } from "vitest";

const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("a traceparent is read and written", () => {
  const read = TraceParent.parse(header);
  expect(read).toEqual({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    sampled: true,
  });
  expect(read && TraceParent.format(read)).toBe(header);
  expect(TraceParent.parse(header.replace(/01$/, "00"))?.sampled).toBe(false);
});

test("a traceparent of a later version is read up to its known fields", () => {
  expect(TraceParent.parse(`${header.replace(/^00/, "01")}-more`)?.sampled).toBe(true);
});

test.each([
  "",
  "nonsense",
  header.toUpperCase(),
  header.replace(/^00/, "ff"),
  `${header}-more`,
  header.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32)),
  header.replace("b7ad6b7169203331", "0".repeat(16)),
])("%j is not a traceparent", (text) => {
  expect(TraceParent.parse(text)).toBeNull();
});

test("the span ids of 200,000 steps of one tree are unique and valid", () => {
  const ids = new Set<string>();
  const tree = TreeId.of("0d1b0d0e-8c7e-4d0c-9f5b-9c6b0c6d7a01");
  for (let run = 0; run < 100; run++) {
    for (let step = 0; step < 2000; step++) ids.add(SpanId.of(StepId.of(RunId.of(tree, run), "model", step)));
  }
  expect(ids.size).toBe(200_000);
  expect([...ids].every((id) => /^(?!0{16})[\da-f]{16}$/.test(id))).toBe(true);
});
