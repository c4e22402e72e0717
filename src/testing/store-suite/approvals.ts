import assert from "node:assert/strict";
import {
  type ApprovalDecision,
  ApprovalId,
  type ApprovalRecord,
  NotFoundError,
  RunId,
  TreeId,
} from "#kernel";
import { type StoreCase, storeCase } from "./harness.ts";

const asked = (
  name: string,
  requestedAt: number,
  treeId = TreeId.of("books"),
): Omit<ApprovalRecord, "decision"> => ({
  id: ApprovalId.of(name),
  treeId,
  runId: RunId.root(treeId),
  tool: "mail",
  arguments: { to: "ann", body: [1, null, "x"] },
  why: "it leaves the house",
  requestedAt,
});

const yes: ApprovalDecision = { decision: "edited", by: "boss", at: 9, arguments: { to: "bob" } };
const no: ApprovalDecision = { decision: "denied", by: "clerk", at: 10 };

export const approvalCases: readonly StoreCase[] = [
  storeCase("a question is pending until it is decided, and asked once", async ({ store, tenant }) => {
    const question = asked("q", 1);
    await store.approvals.request(tenant, question);
    await store.approvals.request(tenant, { ...question, why: "again" });
    const { items } = await store.approvals.list(tenant, { state: "pending" }, { size: 5 });
    assert.deepEqual(items, [{ ...question, decision: null }]);
    assert.deepEqual(await store.approvals.decide(tenant, question.id, yes), { ...question, decision: yes });
    assert.deepEqual((await store.approvals.list(tenant, { state: "pending" }, { size: 5 })).items, []);
    const decided = await store.approvals.list(tenant, { state: "decided" }, { size: 5 });
    assert.deepEqual(decided.items, [{ ...question, decision: yes }]);
  }),

  storeCase("the first decision stays, also when the question is asked again", async ({ store, tenant }) => {
    const question = asked("q", 1);
    await store.approvals.request(tenant, question);
    await store.approvals.decide(tenant, question.id, no);
    assert.deepEqual((await store.approvals.decide(tenant, question.id, yes)).decision, no);
    await store.approvals.request(tenant, question);
    const { items } = await store.approvals.list(tenant, {}, { size: 5 });
    assert.deepEqual(items, [{ ...question, decision: no }]);
  }),

  storeCase("of two decisions at once one holds, and both hear of it", async ({ store, tenant }) => {
    await store.approvals.request(tenant, asked("q", 1));
    const [one, other] = await Promise.all(
      [yes, no].map((decision) => store.approvals.decide(tenant, ApprovalId.of("q"), decision)),
    );
    assert.deepEqual(one, other);
  }),

  storeCase("a question nobody asked cannot be decided", async ({ store, tenant }) => {
    const deciding = store.approvals.decide(tenant, ApprovalId.of("none"), yes);
    await assert.rejects(deciding, (error) => error instanceof NotFoundError);
  }),

  storeCase("questions are listed newest first, by tree and by page", async ({ store, tenant }) => {
    const other = TreeId.of("other");
    for (const n of [1, 2, 3, 4]) await store.approvals.request(tenant, asked(`q${n}`, n));
    await store.approvals.request(tenant, asked("z", 9, other));
    const first = await store.approvals.list(tenant, { treeId: TreeId.of("books") }, { size: 3 });
    assert.deepEqual(
      first.items.map(({ id }) => String(id)),
      ["q4", "q3", "q2"],
    );
    const page = { size: 3, after: first.next ?? "" };
    const second = await store.approvals.list(tenant, { treeId: TreeId.of("books") }, page);
    assert.deepEqual(
      second.items.map(({ id }) => String(id)),
      ["q1"],
    );
    assert.equal(second.next, null);
  }),
];
