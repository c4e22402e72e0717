import * as fc from "fast-check";
import { Labels, StepId } from "reeve/store";
import { RunId, TreeId } from "reeve";
import { type LabelSource } from "#kernel";
import { expect, test } from "vitest";

const run = RunId.root(TreeId.of("t"));
const source = fc.record({
  kind: fc.constantFrom("tool", "step", "input", "file"),
  name: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
  runId: fc.constantFrom(run, null),
  stepId: fc.constantFrom(StepId.of(run, "tool", 1), StepId.of(run, "tool", 2), null),
  untrusted: fc.boolean(),
  private: fc.boolean(),
} satisfies Record<keyof LabelSource, unknown>);
const labels = fc.record(
  { untrusted: fc.boolean(), private: fc.boolean(), sources: fc.uniqueArray(source, { maxLength: 20 }) },
  { requiredKeys: ["untrusted", "private"] },
);

test("joined labels have the labels of both, at most twenty sources, and joining again changes nothing", () => {
  fc.assert(
    fc.property(labels, labels, (one, other) => {
      const joined = Labels.join(one, other);
      expect(joined.untrusted).toBe(one.untrusted || other.untrusted);
      expect(joined.private).toBe(one.private || other.private);
      const sources = joined.sources ?? [];
      expect(sources.length).toBeLessThanOrEqual(Labels.maxSources);
      expect(sources.slice(0, one.sources?.length ?? 0)).toEqual(one.sources ?? []);
      expect(Labels.join(joined, other)).toBe(joined);
      expect(Labels.join(joined, one)).toBe(joined);
    }),
    { numRuns: 2_000 },
  );
});

test("labels that name a source keep it, and content without labels has none", () => {
  const place = { kind: "tool", name: "fetch", runId: run, stepId: null } as const;
  const brought = Labels.withSource(Labels.of({ untrusted: true }), place);
  expect(brought.sources).toEqual([{ ...place, untrusted: true, private: false }]);
  expect(Labels.withSource(brought, { ...place, name: "other" })).toBe(brought);
  expect(Labels.withSource(Labels.none, place)).toBe(Labels.none);
  expect(Labels.describeSources(brought)).toBe(" (untrusted: tool fetch)");
  expect(Labels.describeSources(Labels.none)).toBe("");
});
