import { expect, test } from "vitest";
import { Tree } from "./tree.ts";

const all = { inputTokens: 0, outputTokens: 1000 };
const landing = { ...all, landing: true };

test("3.8 a tenth of tokens and cost, rounded up, is kept for landing", () => {
  const tokens = new Tree({ rootBudget: { maxTokens: 101 } });
  expect(tokens.begin("root", { ask: all })).toMatchObject({ outputTokens: 90 });
  expect(tokens.begin("root", { ask: all })).toMatchObject({ kind: "denied", limit: 101, used: 90 });
  expect(tokens.begin("root", { ask: landing })).toMatchObject({ outputTokens: 11 });
  const cost = new Tree({ rootBudget: { maxCostUsd: 0.000_1 } });
  expect(cost.begin("root", { ask: all })).toMatchObject({ ceiling: { costMicros: 90 } });
  expect(cost.begin("root", { ask: landing })).toMatchObject({ ceiling: { costMicros: 10 } });
});

test("3.8 the last turn is reserved for landing", () => {
  const tree = new Tree({ rootBudget: { maxTurns: 2 } });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
  expect(tree.begin("root")).toMatchObject({ kind: "denied", dimension: "turns", limit: 2, used: 1 });
  expect(tree.begin("root", { ask: landing })).toMatchObject({ kind: "granted" });
  expect(tree.begin("root", { ask: landing })).toMatchObject({ kind: "denied", used: 2 });
});

test("3.8 maxTurns 1 keeps no turn for landing", () => {
  const tree = new Tree({ rootBudget: { maxTurns: 1 } });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
  expect(tree.begin("root", { ask: landing })).toMatchObject({ kind: "denied", dimension: "turns" });
});

test("3.8 a slice belongs to the run that owns the capped account", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 100 } });
  tree.admit("a", { budget: { maxTokens: 60 } });
  expect(tree.begin("a", { ask: all })).toMatchObject({ outputTokens: 54 });
  expect(tree.begin("a", { ask: landing })).toMatchObject({ outputTokens: 6 });
  tree.admit("b");
  expect(tree.begin("b", { ask: landing })).toMatchObject({ outputTokens: 30 });
  expect(tree.begin("b", { ask: landing })).toMatchObject({ kind: "denied", limit: 100, used: 90 });
  expect(tree.begin("root", { ask: landing })).toMatchObject({ outputTokens: 10 });
});

test("3.8 the tree's slice is the root's", () => {
  const tree = new Tree({ treeBudget: { maxTokens: 100 } });
  tree.admit("a");
  expect(tree.begin("a", { ask: landing })).toMatchObject({ outputTokens: 90 });
  expect(tree.begin("root", { ask: all })).toMatchObject({ kind: "denied" });
  expect(tree.begin("root", { ask: landing })).toMatchObject({ outputTokens: 10 });
});
