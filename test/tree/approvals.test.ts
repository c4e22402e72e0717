import { ApprovalId, Json, TooLargeError, type RunId } from "#kernel";
import { expect, test } from "vitest";
import type { ArgumentOf } from "../../src/tree/protocol.ts";
import { LazyTree } from "./lazy-tree.ts";

const question = (id: number, input: Json = {}): ArgumentOf<"requestApproval">["approval"] => ({
  id: ApprovalId.parse(`t~0:tool:${id}`),
  tool: "send_email",
  arguments: input,
  hash: "hash",
  why: "it leaves the tree",
  risk: "high",
  expiresAt: 1_000_000,
  callId: "call",
});

const ask = (tree: LazyTree, run: RunId, approval: ArgumentOf<"requestApproval">["approval"]): Json =>
  Json.as<{ readonly reply: Json }>(tree.call("requestApproval", { ...tree.from(run), approval }).result)
    .reply;

const answer = { by: "ann", hash: "hash", at: 3 } as const;

test("a remembered approval answers the next question at once, and emits an event", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  expect(ask(tree, tree.root, question(1))).toBeNull();
  const approval = question(1).id;
  tree.call("decideApproval", {
    ...answer,
    approval,
    decision: "approved",
    remember: true,
    operationId: "1",
  });
  expect(ask(tree, tree.root, question(2))).toMatchObject({ decision: "approved", by: "ann" });
  const decided = tree.events("approval.decided").map(({ approvalId, decision }) => [approvalId, decision]);
  expect(decided).toEqual([
    ["t~0:tool:1", "approved"],
    ["t~0:tool:2", "approved"],
  ]);
  tree.end(tree.root);
  expect(tree.events("approval.decided")).toHaveLength(2);
});

test("a question that is too large fails its caller, and leaves nothing", () => {
  const tree = new LazyTree({ maxAgents: 2 });
  const keys = [...tree.object.state.keys()];
  expect(() => ask(tree, tree.root, question(1, "x".repeat(8_000_000)))).toThrow(TooLargeError);
  expect([...tree.object.state.keys()]).toEqual(keys);
});

test("a decision after the question has expired, or after its run was cancelled, is refused", () => {
  const decision = { ...answer, approval: question(1).id, decision: "approved", operationId: "1" } as const;
  const cancelled = new LazyTree({ maxAgents: 2 });
  ask(cancelled, cancelled.root, question(1));
  cancelled.call("cancel", { run: cancelled.root, reason: "stop", at: 4 });
  expect(() => cancelled.call("decideApproval", decision)).toThrow(
    expect.objectContaining({ reason: "run-ended" }),
  );
  const late = new LazyTree({ maxAgents: 2 });
  ask(late, late.root, question(1));
  late.object.time = 1_000_001;
  expect(() => late.call("decideApproval", decision)).toThrow(expect.objectContaining({ reason: "expired" }));
});
