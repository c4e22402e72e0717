import { AttemptId, Json, Labels, StepId } from "#kernel";
import { expect, test } from "vitest";
import type { ArgumentOf } from "../../src/tree/protocol.ts";
import { LazyTree } from "./lazy-tree.ts";

/** A tree whose root has this many children. */
function treeOf(children: number): LazyTree {
  const tree = new LazyTree({ maxAgents: children + 1 });
  tree.spawn(children);
  return tree;
}

test("a run that ends leaves no asks: its own are removed, and asks to it at the next ask", () => {
  const tree = treeOf(3);
  const [first, second, third] = [tree.child(1), tree.child(2), tree.child(3)];
  tree.ask(first, second);
  tree.ask(second, third);
  tree.end(second);
  expect(tree.object.keys("asks/")).toEqual([`asks/${first}`]);
  tree.ask(first, third);
  const asks: unknown = JSON.parse(tree.object.state.get(`asks/${first}`) ?? "");
  expect(asks).toMatchObject([{ to: third }]);
});

test("a run that has ended is not part of a cycle of asks", () => {
  const tree = treeOf(3);
  const [first, second, third] = [tree.child(1), tree.child(2), tree.child(3)];
  tree.ask(first, second);
  tree.ask(second, third);
  expect(tree.ask(third, first).result).toMatchObject({ error: { code: "wait-cycle" } });
  tree.end(second);
  expect(tree.ask(third, first).result).toEqual({ to: first });
});

test("a run that goes on in a fresh execution after its cancel has that execution cancelled as well", () => {
  const tree = treeOf(1);
  const child = tree.child(1);
  const carried = { labels: Labels.none, tasks: [], notes: [] };
  const continues = { ...tree.from(child), state: null, unread: [], carried };
  tree.call("cancel", { run: child, reason: "enough", at: 4 });
  expect(tree.object.cancelled).toEqual(["execution 2"]);
  tree.call("continue", continues);
  expect(tree.object.cancelled).toEqual(["execution 2", "execution 3"]);
});

test("the receipt of a cancel counts a call that was never settled at its ceiling", () => {
  const tree = treeOf(1);
  const child = tree.child(1);
  const price = { input: 1_000_000, output: 2_000_000 };
  const ask = { inputTokens: 10, outputTokens: 20, minOutputTokens: 1, price, unpriced: "allow" } as const;
  const begun = tree.call("begin", {
    ...tree.from(child),
    step: StepId.of(child, "model", 1),
    attempt: AttemptId.of("attempt"),
    epoch: { id: "1", order: null },
    ask: { model: "/m", ...ask, landing: false },
    rerun: false,
    previous: [],
    subject: "model",
  });
  expect(begun.result).toMatchObject({ reply: { gate: { ceiling: { costMicros: 50 } } } });
  const cancelled = Json.as<number>(tree.call("cancel", { run: child, reason: "enough", at: 4 }).result);
  tree.call("cancelOverdue", Json.as<ArgumentOf<"cancelOverdue">>(tree.takeSent("cancelOverdue")));
  const { result } = tree.call("receipt", { number: cancelled });
  expect(result).toMatchObject({ reason: "enough", runs: [{ runId: child, spentAfter: 50 }] });
});
