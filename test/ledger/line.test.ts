import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Priority, type RunId } from "#kernel";
import { checkHeadcount } from "./row-store.ts";
import { root, run, Tree } from "./tree.ts";

const names = Array.from({ length: 200 }, (_, index) => `r${index}`);

/** A full tree with 200 queued runs that came at different times. */
function treeWithQueue(priorityOf: (index: number) => Priority): Tree {
  const tree = new Tree({ maxAgents: 2, allowPreempt: false });
  tree.admit("busy");
  for (const [index, name] of names.entries()) {
    tree.at += 1000 * (index % 3);
    tree.admit(name, { onFull: "wait", priority: priorityOf(index) });
  }
  return tree;
}

/** Frees the slot until the line is empty. Returns the runs that got it, in order. */
function drain(tree: Tree): readonly RunId[] {
  const launched: RunId[] = [];
  for (let holder = run("busy"); ;) {
    tree.do({ kind: "release", run: holder, at: tree.at });
    checkHeadcount(tree.state);
    const next = tree.effects.find((effect) => effect.kind === "launch");
    if (!next || !("run" in next) || next.run === null) return launched;
    launched.push((holder = next.run));
  }
}

test("a queue longer than a page is served in its order", () => {
  const tree = treeWithQueue(() => "normal");
  checkHeadcount(tree.state);
  expect(Object.keys(tree.state.pages).length).toBeGreaterThan(3);
  expect(drain(tree)).toEqual(names.map(run));
  expect(tree.state.tree.headcount).toMatchObject({ live: 1, holders: 1, line: {} });
  expect(Object.values(tree.state.pages).flat()).toEqual([]);
});

test("a long queue stays sorted when runs leave, return or change priority", () => {
  const change = fc.tuple(fc.nat(5), fc.nat(199), fc.nat(4));
  const property = fc.property(fc.array(change, { minLength: 40, maxLength: 80 }), (changes) => {
    const tree = treeWithQueue((index) => Priority.all[index % 4] ?? "normal");
    for (const [kind, who, how] of changes) {
      const name = names[who] ?? "";
      tree.at += how * 20_000;
      if (kind <= 2) tree.reprioritize(name, Priority.all[how] ?? "normal");
      if (kind === 3) tree.apply("pause", name);
      if (kind === 4) tree.apply("resume", name);
      if (kind === 5) tree.cancel(name);
      checkHeadcount(tree.state);
    }
    tree.apply("resume", "root");
    const line = names.map(run).filter((id) => tree.state.slots[id]?.cancelled === null);
    expect(new Set(drain(tree))).toEqual(new Set(line));
  });
  fc.assert(property, { numRuns: 4 });
});

test("a queued run past its deadline is passed over and stays queued", () => {
  const tree = new Tree({ maxAgents: 2, treeBudget: { deadlineS: 1 } });
  tree.admit("busy");
  tree.admit("late", { onFull: "wait" });
  tree.at += 2000;
  tree.apply("release", "busy");
  checkHeadcount(tree.state);
  expect(tree.phase("late")).toBe("pending");
  expect(tree.state.slots[root]?.children).toBe(1);
});
