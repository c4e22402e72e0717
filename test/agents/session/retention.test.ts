import { RunId, TreeId } from "reeve";
import { expect, test } from "vitest";
import { branchesToDrop, placeOf } from "#agents";

const tree = TreeId.of("books");
const root = RunId.root(tree);
const helper = RunId.of(tree, 1);

test("only a root with permanent content writes on the main branch", () => {
  expect(placeOf({ runId: root, retention: "permanent" })).toEqual({ branch: null });
  expect(placeOf({ runId: root, retention: "run" })).toEqual({ branch: root });
  expect(placeOf({ runId: helper, retention: "permanent" })).toEqual({ branch: helper });
  expect(placeOf({ runId: helper, retention: "run" })).toEqual({ branch: helper });
});

test("a run without retention writes nothing", () => {
  expect(placeOf({ runId: root, retention: "none" })).toBeNull();
  expect(placeOf({ runId: helper, retention: "none" })).toBeNull();
});

test("when a tree ends, only permanent content stays", () => {
  const runs = (["permanent", "run", "none", "permanent", "run"] as const).map((retention, number) => ({
    runId: RunId.of(tree, number),
    retention,
  }));
  expect(branchesToDrop(runs)).toEqual([1, 2, 4].map((number) => RunId.of(tree, number)));
});
