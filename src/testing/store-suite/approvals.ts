import assert from "node:assert/strict";
import {
  AgentId,
  type ApprovalDecision,
  type ApprovalFilter,
  NotFoundError,
  RunId,
  TreeId,
  UserId,
} from "#kernel";
import { ann, bob, questionOf, runOf, type StoreCase, storeCase } from "./harness.ts";

const yes: ApprovalDecision = { decision: "edited", by: "lead", at: 9, arguments: { to: "bob" } };
const no: ApprovalDecision = { decision: "denied", by: "writer", at: 10 };

export const approvalCases: readonly StoreCase[] = [
  storeCase("a question is pending until it is decided, and asked once", async ({ store, tenant }) => {
    const question = questionOf(1);
    await store.approvals.request(tenant, question);
    await store.approvals.request(tenant, { ...question, why: "again" });
    const { items } = await store.approvals.list(tenant, { state: "pending" }, { size: 5 });
    assert.deepEqual(items, [{ ...question, decision: null }]);
    assert.deepEqual(await store.approvals.decide(tenant, question.id, yes), { ...question, decision: yes });
    assert.deepEqual((await store.approvals.list(tenant, { state: "pending" }, { size: 5 })).items, []);
    const decided = await store.approvals.list(tenant, { state: "decided" }, { size: 5 });
    assert.deepEqual(decided.items, [{ ...question, decision: yes }]);
  }),

  storeCase("the first decision stays, even if the question is asked again", async ({ store, tenant }) => {
    const question = questionOf(1);
    await store.approvals.request(tenant, question);
    await store.approvals.decide(tenant, question.id, no);
    assert.deepEqual((await store.approvals.decide(tenant, question.id, yes)).decision, no);
    await store.approvals.request(tenant, question);
    const { items } = await store.approvals.list(tenant, {}, { size: 5 });
    assert.deepEqual(items, [{ ...question, decision: no }]);
  }),

  storeCase("one of two concurrent decisions wins, and both callers get it", async ({ store, tenant }) => {
    await store.approvals.request(tenant, questionOf(1));
    const [one, other] = await Promise.all(
      [yes, no].map((decision) => store.approvals.decide(tenant, questionOf(1).id, decision)),
    );
    assert.deepEqual(one, other);
  }),

  storeCase("a question that was never asked cannot be decided", async ({ store, tenant }) => {
    const deciding = store.approvals.decide(tenant, questionOf(9).id, yes);
    await assert.rejects(deciding, (error) => error instanceof NotFoundError);
  }),

  storeCase("questions are listed newest first, by tree and by page", async ({ store, tenant }) => {
    const other = TreeId.of("other");
    for (const n of [1, 2, 3, 4]) await store.approvals.request(tenant, questionOf(n));
    await store.approvals.request(tenant, questionOf(9, { runId: RunId.root(other) }));
    const first = await store.approvals.list(tenant, { treeId: TreeId.of("books") }, { size: 3 });
    assert.deepEqual(
      first.items.map(({ requestedAt }) => requestedAt),
      [4, 3, 2],
    );
    const page = { size: 3, after: first.next ?? "" };
    const second = await store.approvals.list(tenant, { treeId: TreeId.of("books") }, page);
    assert.deepEqual(
      second.items.map(({ requestedAt }) => requestedAt),
      [1],
    );
    assert.equal(second.next, null);
  }),

  storeCase(
    "erasing a tree keeps the decider of each of its questions, and touches no other tree",
    async (desk) => {
      const { store, tenant } = desk;
      const other = questionOf(3, { runId: RunId.root(TreeId.of("other")) });
      for (const question of [questionOf(1), questionOf(2), other])
        await store.approvals.request(tenant, question);
      await store.approvals.decide(tenant, questionOf(2).id, { ...yes, reason: "better so" });
      await store.approvals.erase(tenant, questionOf(1).treeId);
      await store.approvals.erase(tenant, questionOf(1).treeId);
      const { items } = await store.approvals.list(tenant, {}, { size: 5 });
      const erased = { arguments: null, why: "[erased]" };
      const { decision, by, at } = yes;
      assert.deepEqual(items, [
        { ...other, decision: null },
        { ...questionOf(2), ...erased, decision: { decision, by, at } },
        { ...questionOf(1), ...erased, decision: null },
      ]);
    },
  ),

  storeCase("questions are listed by agent, tool and risk", async ({ store, tenant }) => {
    const writer = { agentId: AgentId.of("writer", "north"), tool: "send", risk: "high" } as const;
    await store.approvals.request(tenant, questionOf(1, writer));
    await store.approvals.request(tenant, questionOf(2, { ...writer, tool: "send_email" }));
    await store.approvals.request(tenant, questionOf(3, { ...writer, risk: "critical" }));
    await store.approvals.request(tenant, questionOf(4, { ...writer, agentId: AgentId.of("writer2") }));
    const times = async (filter: ApprovalFilter): Promise<readonly number[]> =>
      (await store.approvals.list(tenant, filter, { size: 9 })).items.map(({ requestedAt }) => requestedAt);
    assert.deepEqual(await times({ agentType: "writer" }), [3, 2, 1]);
    assert.deepEqual(await times({ tool: "send" }), [4, 3, 1]);
    assert.deepEqual(await times({ risk: "high", state: "pending" }), [4, 2, 1]);
    assert.deepEqual(await times({ agentType: "writer", tool: "send", risk: "high" }), [1]);
    assert.deepEqual(await times({ tool: "none" }), []);
  }),

  storeCase("questions are listed by the user of their tree, by page", async ({ store, tenant }) => {
    const owners = { a1: ann, b1: bob, a2: ann, none: null };
    for (const [tree, userId] of Object.entries(owners)) {
      const runId = RunId.root(TreeId.of(tree));
      await store.runs.put(tenant, runOf({ runId, userId }));
      await store.approvals.request(tenant, questionOf(1, { runId }));
    }
    await store.approvals.request(tenant, questionOf(9, { runId: RunId.root(TreeId.of("unknown")) }));
    const trees = async (userId: UserId, after?: string): Promise<readonly string[]> => {
      const page = { size: 1, ...(after !== undefined && { after }) };
      const { items, next } = await store.approvals.list(tenant, { userId }, page);
      return [...items.map(({ treeId }) => treeId), ...(next === null ? [] : await trees(userId, next))];
    };
    assert.deepEqual(new Set(await trees(ann)), new Set(["a1", "a2"]));
    assert.deepEqual(await trees(bob), ["b1"]);
    assert.deepEqual(await trees(UserId.of("zoe")), []);
    const both = await store.approvals.list(tenant, { userId: bob, treeId: TreeId.of("a1") }, { size: 5 });
    assert.deepEqual(both.items, []);
  }),
];
