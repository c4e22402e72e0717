import * as fc from "fast-check";
import { memoryStore } from "reeve/stores/memory";
import { storeSuite, type StoreHarness } from "reeve/testing/suites";
import { expect, test } from "vitest";
import { type RunRecord, type Store, TreeId } from "#kernel";
import { factProperty } from "./fact-property.ts";
import { propertyRuns } from "../effort.ts";

const store = memoryStore();
const harness: StoreHarness = { open: async () => store };

test.each(storeSuite.map((each) => [each.name, each] as const))("memory: %s", async (_, each) => {
  await each.run(harness);
});

const withoutTenant = (other: Store, run: RunRecord): unknown[] => [
  // @ts-expect-error: which tenant's?
  other.runs.put(run),
  // @ts-expect-error: which tenant's?
  other.runs.put({}, run),
  // @ts-expect-error: which tenant's?
  other.runs.list({ status: "running" }, { size: 1 }),
  // @ts-expect-error: which tenant's?
  other.events.read(TreeId.of("books"), 0, 1),
  // @ts-expect-error: which tenant's?
  other.memory.recall(null, { key: "k" }),
  // @ts-expect-error: which tenant's?
  other.audit.head(),
  // @ts-expect-error: which tenant's?
  other.eraseUser(null),
];

test("a call without a tenant does not compile", () => {
  expect(withoutTenant).toBeTypeOf("function");
});

test("a back-dated fact never inverts valid time, in any order of facts", async () => {
  await fc.assert(
    factProperty(async () => store),
    { numRuns: propertyRuns(300) },
  );
});
