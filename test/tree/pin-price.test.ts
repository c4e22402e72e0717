import { AttemptId, StepId, type Price } from "#kernel";
import { expect, test } from "vitest";
import { LazyTree } from "./lazy-tree.ts";

const price: Price = { input: 1_000_000, output: 2_000_000 };

/** The ceiling that the tree books for 10 tokens in and 20 out. */
function ceiling(tree: LazyTree, model: string, asked: Price | null): unknown {
  const attempt = tree.id();
  const { result } = tree.call("begin", {
    ...tree.from(tree.root),
    step: StepId.of(tree.root, "model", Number(attempt.replaceAll(/\D/g, ""))),
    attempt: AttemptId.of(attempt),
    epoch: { id: "1", order: null },
    ask: {
      model,
      inputTokens: 10,
      outputTokens: 20,
      minOutputTokens: 1,
      price: asked,
      unpriced: "allow",
      landing: false,
    },
    rerun: false,
    previous: [],
    subject: "model",
  });
  return result;
}

const books = (costMicros: number): object => ({ reply: { gate: { ceiling: { costMicros } } } });

test("a tree keeps the price at which it first called a model, whatever a later worker says", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  expect(ceiling(tree, "hosted/llama", price)).toMatchObject(books(50));
  expect(ceiling(tree, "hosted/llama", { input: 0, output: 0 })).toMatchObject(books(50));
  expect(ceiling(tree, "hosted/llama", null)).toMatchObject(books(50));
  expect(ceiling(tree, "other/llama", { input: 0, output: 0 })).toMatchObject(books(0));
});

test("a rate for cache writes that becomes known is added to the pinned price", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  expect(ceiling(tree, "hosted/claude", price)).toMatchObject(books(50));
  expect(ceiling(tree, "hosted/claude", { ...price, cacheWrite: 3_000_000 })).toMatchObject(books(70));
  expect(ceiling(tree, "hosted/claude", price)).toMatchObject(books(70));
});
