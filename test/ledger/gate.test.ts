import { expect, test } from "vitest";
import { Ledger } from "#ledger";
import { attempt, root, run, step, Tree } from "./tree.ts";

const refusalOf = (why: string, reason: string | null = null) => ({ kind: "refused", why, reason });

const { limits } = Ledger.noLease;

test("nothing begins in a run that has ended, is cancelled or is past its deadline", () => {
  const tree = new Tree({ treeBudget: { deadlineS: 10 } });
  expect(tree.begin("gone")).toEqual(refusalOf("ended"));
  expect(tree.begin("root", { at: 11_000 })).toMatchObject({ kind: "granted" });
  expect(tree.begin("root", { at: 11_001 })).toEqual(refusalOf("deadline"));
  tree.cancel("root", "enough");
  expect(tree.begin("root", { at: 11_001 })).toEqual(refusalOf("cancelled", "enough"));
});

test("an execution that another one has replaced begins nothing", () => {
  const tree = new Tree();
  const begin = (id: string) => tree.begin("root", { epoch: { id, order: null } });
  expect(begin("a")).toMatchObject({ kind: "granted" });
  expect(begin("b")).toMatchObject({ kind: "granted" });
  expect(begin("a")).toEqual(refusalOf("superseded"));
  expect(begin("b")).toMatchObject({ kind: "granted" });
  tree.apply("pause", "root");
  expect(begin("c")).toEqual(refusalOf("paused"));
  tree.apply("resume", "root");
  expect(begin("b")).toEqual(refusalOf("superseded"));
  expect(begin("c")).toMatchObject({ kind: "granted" });
});

test("an older execution that first asks after its successor is admitted once, then the successor wins", () => {
  const tree = new Tree();
  const begin = (id: string) => tree.begin("root", { epoch: { id, order: null } }).kind;
  // The engine executes the run again as `again` when `successor` is refused.
  expect(["successor", "late", "successor", "again", "late", "again"].map(begin)).toEqual([
    "granted",
    "granted",
    "refused",
    "granted",
    "refused",
    "granted",
  ]);
});

test("if the engine orders executions, an older one is refused even at its first call", () => {
  const tree = new Tree();
  const begin = (order: number) => tree.begin("root", { epoch: { id: `execution-${order}`, order } }).kind;
  expect([2, 1, 2, 3, 2, 3].map(begin)).toEqual([
    "granted",
    "refused",
    "granted",
    "granted",
    "refused",
    "granted",
  ]);
});

test("superseded executions are remembered up to a number, so that the state stays small", () => {
  const tree = new Tree();
  for (let index = 0; index < 100; index++)
    tree.begin("root", { epoch: { id: `execution-${index}`, order: null } });
  expect(tree.state.slots[root]?.fence.older).toHaveLength(16);
  expect(tree.begin("root", { epoch: { id: "execution-98", order: null } })).toEqual(refusalOf("superseded"));
});

test("a run that yields, is parked, is held or has no slot yet begins nothing", () => {
  const tree = new Tree({ maxAgents: 2 });
  tree.admit("a", { priority: "low" });
  tree.admit("b", { priority: "high" });
  expect(tree.begin("a")).toEqual(refusalOf("paused"));
  expect(tree.begin("b")).toEqual(refusalOf("paused"));
  tree.apply("yield", "a");
  expect(tree.begin("a")).toEqual(refusalOf("paused"));
  tree.apply("pause", "b");
  expect(tree.begin("b")).toEqual(refusalOf("paused"));
});

test("a waiting run that begins is running again", () => {
  const tree = new Tree();
  tree.wait("root", null);
  tree.begin("root");
  expect(tree.phase("root")).toBe("running");
});

test("5.4 a lost model call is asked again under its own reservation; the lost one stays booked, in doubt", () => {
  const tree = new Tree();
  tree.begin("root", { step: step(1), attempt: attempt("1") });
  expect(tree.begin("root", { step: step(1), attempt: attempt("2") })).toMatchObject({ attempts: 2 });
  const ceiling = { tokens: 20, costMicros: 30 };
  expect(tree.account("root")).toMatchObject({ reserved: ceiling, inDoubt: ceiling });
  expect(tree.state.doubts[attempt("1")]).toMatchObject({ run: root, step: step(1), ceiling, path: [root] });
});

test("5.4 three lost attempts of one step pause the run", () => {
  const tree = new Tree();
  tree.admit("a");
  for (const id of ["1", "2", "3"]) tree.begin("a", { step: step(1), attempt: attempt(id) });
  expect(tree.begin("a", { step: step(1), attempt: attempt("4") })).toEqual({
    ...refusalOf("paused"),
    reason: `3 attempts of ${step(1)} were lost`,
  });
  expect(tree.effects).toEqual([{ kind: "tell", run: run("a"), cause: "held" }]);
  expect(tree.account("a").inDoubt).toEqual({ tokens: 60, costMicros: 90 });
  tree.apply("yield", "a");
  tree.apply("resume", "a");
  expect(tree.begin("a", { step: step(1), attempt: attempt("5") })).toMatchObject({ attempts: 4 });
  expect(tree.begin("a", { step: step(1), attempt: attempt("6") })).toMatchObject({ kind: "granted" });
});

test("5.4 attempts that were settled are not lost: a retried step goes on", () => {
  const tree = new Tree();
  for (const id of ["1", "2", "3", "4"]) {
    expect(tree.begin("root", { step: step(1), attempt: attempt(id) })).toMatchObject({
      attempts: Number(id),
    });
    tree.do({ kind: "settle", run: root, attempt: attempt(id), usage: null, again: true, at: 0 });
  }
  expect(tree.begin("root", { step: step(1), attempt: attempt("5") })).toMatchObject({ kind: "granted" });
});

test("5.3 a tool call that began before and is still open is reported as such", () => {
  const tree = new Tree();
  expect(tree.begin("root", { step: step(1), attempt: attempt("1"), ask: null })).toEqual({
    kind: "granted",
    outputTokens: 0,
    ceiling: { tokens: 0, costMicros: 0 },
    shrunk: null,
    attempts: 1,
  });
  const again = { step: step(1), attempt: attempt("2"), ask: null };
  expect(tree.begin("root", again)).toEqual({ kind: "earlier-attempt-open", attempt: attempt("1") });
  const other = { ...again, rerun: attempt("0") };
  expect(tree.begin("root", other)).toEqual({ kind: "earlier-attempt-open", attempt: attempt("1") });
  expect(tree.begin("root", { ...again, rerun: true })).toMatchObject({ kind: "granted", attempts: 2 });
  expect(tree.account("root").attempts.map(({ id }) => id)).toEqual(["2"]);
  expect(tree.settle("root", "2", null)).toBeNull();
  expect(tree.account("root")).toMatchObject({ attempts: [], steps: [], turns: 0 });
  expect(tree.state.doubts).toEqual({});
});

test("the journal's attempt is settled, every other of its step is in doubt", () => {
  const tree = new Tree();
  tree.begin("root", { step: step(1), attempt: attempt("1") });
  tree.begin("root", { step: step(1), attempt: attempt("2") });
  expect(tree.settle("root", "1", { input: 4, output: 0 })).toEqual({
    tokens: 4,
    costMicros: 4,
    inDoubt: false,
  });
  expect(tree.account("root")).toMatchObject({
    settled: { tokens: 4, costMicros: 4 },
    reserved: { tokens: 0, costMicros: 0 },
    inDoubt: { tokens: 20, costMicros: 30 },
    steps: [],
  });
  expect(Object.keys(tree.state.doubts)).toEqual(["2"]);
});

test("a step with an abandoned attempt gets its result, even if its usage is unknown: nothing stays reserved", () => {
  const tree = new Tree();
  tree.begin("root", { step: step(1), attempt: attempt("1") });
  tree.begin("root", { step: step(1), attempt: attempt("2") });
  expect(tree.settle("root", "1", null)).toBeNull();
  expect(tree.account("root")).toMatchObject({
    reserved: { tokens: 0, costMicros: 0 },
    inDoubt: { tokens: 40, costMicros: 60 },
    attempts: [],
    steps: [],
  });
  expect(Object.keys(tree.state.doubts)).toEqual(["1", "2"]);
});

test("open calls of an ended run are in doubt, and its parent carries them", () => {
  const tree = new Tree();
  tree.admit("a");
  tree.begin("a", { attempt: attempt("1") });
  tree.begin("a", { attempt: attempt("2") });
  tree.settle("a", "2", { input: 1, output: 1 });
  expect(tree.apply("release", "a")).toMatchObject({
    usage: { input: 1, output: 1 },
    settled: { tokens: 2, costMicros: 3 },
    inDoubt: { tokens: 20, costMicros: 30 },
  });
  expect(tree.account("root")).toMatchObject({ settled: { tokens: 2 }, inDoubt: { tokens: 20 } });
  expect(tree.state.accounts[run("a")]).toBeUndefined();
});

test("a lost attempt is reconciled on the accounts that are left, once", () => {
  const tree = new Tree();
  tree.admit("a");
  tree.begin("a", { attempt: attempt("1") });
  tree.apply("release", "a");
  const reconcile = { kind: "reconcile", attempt: attempt("1"), usage: { input: 3, output: 0 } } as const;
  expect(tree.do({ ...reconcile, usage: { input: -3, output: 0 } })).toBeNull();
  expect(tree.do(reconcile)).toEqual({ run: run("a"), tokens: 3, costMicros: 3, inDoubt: false });
  expect(tree.account("root")).toMatchObject({
    settled: { tokens: 3, costMicros: 3 },
    inDoubt: { tokens: 0, costMicros: 0 },
  });
  expect(tree.do(reconcile)).toBeNull();
});

test("an adopted run keeps its calls in flight and leaves its spend behind", () => {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("a", { budget: { maxTokens: 100 } });
  tree.admit("b", { parent: run("a") });
  tree.begin("b", { attempt: attempt("1") });
  tree.begin("b", { attempt: attempt("2") });
  tree.settle("b", "1", null);
  tree.do({ kind: "adopt", run: run("b"), parent: root, at: tree.at });
  expect(tree.account("a")).toMatchObject({ reserved: { tokens: 0 }, inDoubt: { tokens: 20 } });
  tree.settle("b", "2", { input: 2, output: 0 });
  tree.do({ kind: "reconcile", attempt: attempt("1"), usage: { input: 1, output: 0 } });
  expect(Ledger.spend(tree.account("a")).tokens).toBe(1);
  for (const name of ["root", "b"]) expect(Ledger.spend(tree.account(name)).tokens).toBe(3);
});

test("a call in flight is settled on its remaining ancestors if its parent has ended", () => {
  const tree = new Tree({ maxAgents: 4 });
  tree.admit("a");
  tree.admit("b", { parent: run("a") });
  tree.begin("b", { attempt: attempt("1") });
  tree.apply("release", "a");
  tree.settle("b", "1", { input: 2, output: 0 });
  expect(tree.account("root")).toMatchObject({ reserved: { tokens: 0 }, settled: { tokens: 2 } });
});

test("9.1 a call above the loan asks to borrow first, and changes nothing until then", () => {
  const tree = new Tree({ lease: { tokens: 25, costMicros: null } });
  tree.begin("root");
  const before = tree.state;
  expect(tree.begin("root")).toEqual({ kind: "needs-lease", tokens: 15, costMicros: 0 });
  expect(tree.state).toBe(before);
  tree.do({
    kind: "grantQuota",
    tokens: 15,
    costMicros: null,
    limits,
    leasedAt: 1,
    until: 9_000,
    adds: true,
  });
  expect(tree.state.tree.lease).toMatchObject({ tokens: 40, costMicros: null, until: 9_000 });
  expect(tree.begin("root")).toMatchObject({ kind: "granted", shrunk: null });
});

test("5.4 an execution that must borrow first still counts as the newest", () => {
  const tree = new Tree({ lease: { tokens: 0, costMicros: null } });
  expect(tree.begin("root", { epoch: { id: "new", order: 2 } })).toMatchObject({ kind: "needs-lease" });
  const late = tree.begin("root", { epoch: { id: "old", order: 1 }, leaseIsFinal: true });
  expect(late).toMatchObject({ kind: "refused", why: "superseded" });
});

test("9.1 if the tenant has no more budget, its loan is a limit without a landing slice", () => {
  const tree = new Tree({ lease: { tokens: 35, costMicros: null } });
  tree.begin("root");
  expect(tree.begin("root", { leaseIsFinal: true })).toMatchObject({ outputTokens: 5, shrunk: "tokens" });
  expect(tree.begin("root", { leaseIsFinal: true })).toMatchObject({
    kind: "denied",
    dimension: "tokens",
    limit: 35,
    used: 35,
    reason: "exhausted",
  });
});

test("9.1 a call that the accounts do not allow is denied without borrowing", () => {
  const tree = new Tree({ rootBudget: { maxTokens: 10 }, lease: { tokens: 0, costMicros: 0 } });
  expect(tree.begin("root")).toMatchObject({ kind: "denied", limit: 10 });
});

test("9.1 a tree that closes its lease reports its usage, with calls in flight at their ceilings", () => {
  const tree = new Tree({ lease: { tokens: 100, costMicros: 100 } });
  tree.begin("root", { attempt: attempt("1") });
  tree.begin("root");
  tree.settle("root", "1", { input: 2, output: 0 });
  expect(tree.do({ kind: "returnQuota" })).toEqual({ leasedAt: 1, used: { tokens: 22, costMicros: 32 } });
  expect(tree.begin("root")).toEqual({ kind: "needs-lease", tokens: 20, costMicros: 30 });
  expect(tree.do({ kind: "returnQuota" })).toBeNull();
});

test("9.1 the tenant corrects the cost of a call of a closed lease, even after it was in doubt", () => {
  const tree = new Tree({ lease: { tokens: 100, costMicros: 100 } });
  tree.begin("root", { attempt: attempt("1") });
  tree.begin("root", { attempt: attempt("2") });
  tree.do({ kind: "returnQuota" });
  tree.do({ kind: "grantQuota", tokens: 50, costMicros: 50, limits, leasedAt: 7, until: 9_000, adds: false });
  tree.settle("root", "1", { input: 2, output: 0 });
  expect(tree.effects).toEqual([{ kind: "correct", leasedAt: 1, tokens: -18, costMicros: -28 }]);
  tree.settle("root", "2", null);
  expect(tree.effects).toEqual([]);
  tree.do({ kind: "reconcile", attempt: attempt("2"), usage: { input: 30, output: 0 } });
  expect(tree.effects).toEqual([{ kind: "correct", leasedAt: 1, tokens: 10, costMicros: 0 }]);
  expect(tree.state.tree.lease?.used).toEqual({ tokens: 0, costMicros: 0 });
});

test("9.1 nothing is reserved under an expired lease", () => {
  const tree = new Tree({ lease: { tokens: 100, costMicros: 100 } });
  tree.do({ kind: "grantQuota", tokens: 0, costMicros: 0, limits, leasedAt: 1, until: 1_001, adds: true });
  expect(tree.begin("root")).toMatchObject({ kind: "granted" });
  tree.at = 1_001;
  expect(tree.begin("root")).toEqual({ kind: "needs-lease", tokens: 20, costMicros: 30 });
});
