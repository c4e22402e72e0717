import { expect, test } from "vitest";
import { LazyTree } from "./lazy-tree.ts";

const treeWith = (children: number): LazyTree => {
  const tree = new LazyTree({ maxAgents: children + 1 });
  tree.spawn(children);
  return tree;
};

test.each([1, 50, 200])("the end of a parent with %d live children takes at most 6 tries", (children) => {
  const tree = treeWith(children);
  expect(tree.end(tree.root).tries).toBeLessThanOrEqual(6);
  expect(tree.call("status", { run: tree.child(1) }).result).toBe("running");
  for (let number = 1; number <= children; number++) tree.end(tree.child(number));
  expect(tree.call("result", { run: tree.root }).result).toMatchObject({ status: "completed" });
});

test("the end of a parent with queued children takes at most 6 tries", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  tree.spawn(1);
  tree.queue(100);
  expect(tree.end(tree.root).tries).toBeLessThanOrEqual(6);
  expect(tree.call("status", { run: tree.child(100) }).result).toBe("cancelled");
});

test("the end of a run that has not read 100 messages takes at most 6 tries", () => {
  const tree = treeWith(2);
  for (let number = 0; number < 100; number++) tree.send(tree.child(1), "x".repeat(10_000));
  expect(tree.end(tree.child(1)).tries).toBeLessThanOrEqual(6);
});

test("the cancel of a tree takes at most 6 tries", () => {
  const tree = treeWith(200);
  const { tries } = tree.call("cancel", { run: tree.root, reason: "enough", at: 5 });
  expect(tries).toBeLessThanOrEqual(6);
});

test("the receipt of a cancel is read from the ends of its runs, and no value grows with each end", () => {
  const children = 200;
  const tree = treeWith(children);
  const number = Number(tree.call("cancel", { run: tree.root, reason: "enough", at: 5 }).result);
  expect(tree.call("receipt", { number }).result).toBeNull();
  const written = tree.object.state.get(`cancel/${number}`);
  for (let child = children; child > 0; child--) tree.end(tree.child(child));
  tree.end(tree.root);
  expect(tree.object.keys("cancel/")).toEqual([`cancel/${number}`, `cancel/${number}/done`]);
  expect(tree.object.state.get(`cancel/${number}`)).toBe(written);
  const { result, tries } = tree.call("receipt", { number });
  expect(result).toMatchObject({ reason: "enough", runs: { length: children + 1 } });
  expect(tries).toBeLessThanOrEqual(3);
});
