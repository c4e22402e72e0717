import { expect, test } from "vitest";
import { Tree } from "./tree.ts";

/** A call of a model whose prompt is bounded at 10 tokens, with up to 10 of output. */
const callOf = (model: string) => ({ ask: { model } });

test("calls in flight at once that report the same tokens beyond their bounds raise later bounds once", () => {
  const tree = new Tree();
  tree.begin("root", callOf("acme/large"));
  tree.begin("root", callOf("acme/large"));
  tree.settle("root", "attempt-1", { input: 40, output: 1 });
  tree.settle("root", "attempt-2", { input: 35, output: 1 });
  expect(tree.begin("root", callOf("acme/large"))).toMatchObject({ ceiling: { tokens: 10 + 30 + 10 } });
  // Its bound holds them now, so its report raises nothing.
  tree.settle("root", "attempt-3", { input: 40, output: 10 });
  expect(tree.begin("root", callOf("acme/large"))).toMatchObject({ ceiling: { tokens: 10 + 30 + 10 } });
  tree.settle("root", "attempt-4", { input: 41, output: 10 });
  expect(tree.begin("root", callOf("acme/large"))).toMatchObject({ ceiling: { tokens: 10 + 31 + 10 } });
});

test("only bounds of the model that reported more are raised", () => {
  const tree = new Tree();
  tree.begin("root", callOf("acme/large"));
  tree.settle("root", "attempt-1", { input: 40, output: 1 });
  expect(tree.begin("root", callOf("acme/small"))).toMatchObject({ ceiling: { tokens: 20 } });
  expect(tree.begin("root", callOf("constructor"))).toMatchObject({ ceiling: { tokens: 20 } });
});

test("unused output does not hide tokens beyond the bound of the input", () => {
  const tree = new Tree();
  tree.begin("root", { ask: { model: "acme/large", outputTokens: 1_000 } });
  tree.settle("root", "attempt-1", { input: 40, output: 1 });
  expect(tree.begin("root", callOf("acme/large"))).toMatchObject({ ceiling: { tokens: 50 } });
});

test("a call that waited for money is reserved with the tokens that were reported meanwhile", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 110 } });
  const large = { model: "acme/large", outputTokens: 40, minOutputTokens: 40 };
  tree.begin("root", { ask: large });
  const waiting = tree.begin("root", { ask: large, waitsSince: tree.at });
  expect(waiting).toMatchObject({ kind: "waits" });
  tree.settle("root", "attempt-1", { input: 28, output: 0 });
  const [woken] = tree.do({ kind: "decideWaiting", takeBy: tree.at, at: tree.at });
  expect(woken).toMatchObject({ run: tree.state.tree.root });
  expect(tree.account("root").reserved.tokens).toBe(10 + 18 + 40);
});
