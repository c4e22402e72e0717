import { expect, test } from "vitest";
import { Ledger } from "#ledger";
import { RunId, SpawnBudget, TreeId } from "#kernel";

const tree = TreeId.of("t");
const root = RunId.root(tree);
const child = (number: number): RunId => RunId.of(tree, number);

const opened = Ledger.open({
  root,
  priority: "normal",
  spawn: SpawnBudget.of({ maxAgents: 2, allowPreempt: false }),
  treeBudget: { deadlineS: 10 },
  rootBudget: {},
  lease: null,
  ageingMs: 60_000,
  at: 0,
});

const admission = (number: number, at: number) =>
  ({
    run: child(number),
    parent: root,
    priority: "normal",
    budget: null,
    onFull: "wait",
    detached: false,
    at,
  }) as const;

test("no child is admitted after its parent's deadline", () => {
  expect(Ledger.admit(opened, admission(1, 10_000)).decision.kind).toBe("granted");
  expect(Ledger.admit(opened, admission(1, 10_001)).decision).toMatchObject({
    kind: "denied",
    reason: "ended",
  });
});

test("a queued run past its deadline gets no freed slot", () => {
  const first = Ledger.admit(opened, admission(1, 0));
  const queued = Ledger.admit(first.state, admission(2, 0));
  expect(queued.decision.kind).toBe("queued");
  const inTime = Ledger.release(queued.state, { run: child(1), at: 10_000 });
  expect(inTime.effects).toContainEqual({ kind: "launch", run: child(2) });
  const late = Ledger.release(queued.state, { run: child(1), at: 10_001 });
  expect(late.effects).toEqual([]);
});
