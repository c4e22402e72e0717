import { RunId, TreeId } from "reeve";
import { expect, test } from "vitest";
import { branchesToDrop, toBranch } from "#agents";

const tree = TreeId.of("books");
const root = RunId.root(tree);
const writer = RunId.of(tree, 1);

test("only a root with permanent content writes on the main branch", () => {
  expect(toBranch({ runId: root, retention: "permanent" })).toEqual({ branch: null });
  expect(toBranch({ runId: root, retention: "run" })).toEqual({ branch: root });
  expect(toBranch({ runId: writer, retention: "permanent" })).toEqual({ branch: writer });
  expect(toBranch({ runId: writer, retention: "run" })).toEqual({ branch: writer });
});

test("a run without retention writes nothing", () => {
  expect(toBranch({ runId: root, retention: "none" })).toBeNull();
  expect(toBranch({ runId: writer, retention: "none" })).toBeNull();
});

test("when a tree ends, only permanent content stays", () => {
  const runs = (["permanent", "run", "none", "permanent", "run"] as const).map((retention, number) => ({
    runId: RunId.of(tree, number),
    retention,
  }));
  expect(branchesToDrop(runs)).toEqual([1, 2, 4].map((number) => RunId.of(tree, number)));
});
