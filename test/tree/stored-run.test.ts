import { AgentId, Json, RunId, type ExecutionBudget } from "#kernel";
import type { Slot } from "#ledger";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { EndedRecord, RunRecord } from "../../src/tree/state/records.ts";
import {
  decodeEnded,
  decodeRun,
  decodeSlot,
  encodeEnded,
  encodeRun,
  encodeSlot,
} from "../../src/tree/state/stored-run.ts";
import { LazyTree } from "./lazy-tree.ts";

/** Returns a tree, a child of its root, and a child of that one. */
function createTree(): { tree: LazyTree; run: RunRecord; slot: Slot; runs: readonly RunId[] } {
  const tree = new LazyTree({ maxAgents: 4 });
  const child = tree.spawnChild(tree.root);
  const grandchild = tree.spawnChild(child, { budget: { maxTokens: 9, maxTurns: 2 } });
  const [run, slot] = [tree.run(child), tree.slot(child)];
  if (!run || !slot) throw new Error("the child has not started");
  return { tree, run, slot, runs: [tree.root, child, grandchild] };
}

const toStored = (value: unknown): Json => Json.of(JSON.parse(JSON.stringify(value)));

test("the stored form of runs is a format: fields that have their default are omitted", () => {
  const { tree, runs } = createTree();
  const [root, child, grandchild] = runs.map((run) => [
    tree.readStored(`run/${run}`),
    tree.readStored(`slot/${run}`),
  ]);
  const common = { version: "1", spawnedAt: 1 };
  const place = { sessionId: "s", spawnBudget: { maxAgents: 4 } };
  expect(root).toEqual([
    {
      ...common,
      agentId: "parent",
      supervision: { ...place, retention: "permanent" },
      budget: {},
      firstMessage: "input",
      execution: "execution 1",
      wakesWithItems: true,
      inbox: { taken: 1 },
    },
    { since: 1, children: 1 },
  ]);
  expect(child).toEqual([
    {
      ...common,
      agentId: "child",
      supervision: { ...place, parentId: "parent" },
      firstMessage: "id-1",
      execution: "execution 2",
      wakesWithItems: true,
      inbox: { taken: 1 },
    },
    { since: 1, children: 1 },
  ]);
  const budget = { maxTokens: 9, maxTurns: 2 };
  expect(grandchild).toEqual([
    {
      ...common,
      agentId: "child",
      supervision: { ...place, rootId: "parent", parentId: "child", executionBudget: budget },
      ancestors: runs.slice(0, 2),
      budget,
      firstMessage: "id-2",
      execution: "execution 3",
      account: budget,
      wakesWithItems: true,
      inbox: { taken: 1 },
    },
    { parent: runs[1], since: 1 },
  ]);
  tree.end(runs[2] ?? tree.root, "done");
  expect(tree.readStored(`ended/${runs[2]}`)).toEqual({
    agentId: "child",
    parentRunId: runs[1],
    startedAt: 1,
    endedAt: 1,
    result: { erased: true },
  });
});

const amounts = fc.record({ tokens: fc.nat(3), costMicros: fc.nat(3) });
const names = fc.array(fc.string(), { maxLength: 2 });
const nullable = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { nil: null });

test("a record of a live run is read as it was written", () => {
  const { run, runs } = createTree();
  const budgets = fc.constantFrom<ExecutionBudget | null>(null, {}, { maxTokens: 5, onLimit: "wait" });
  const changes = fc.record({
    ancestors: fc.constantFrom(...[0, 1, 2].map((count) => runs.slice(0, count))),
    budget: budgets,
    startedAt: nullable(fc.constantFrom(1, 2)),
    execution: nullable(fc.string()),
    reported: fc.nat(2),
    crashedIn: fc.constantFrom("", "t~1/1"),
    watchers: fc.constantFrom(...[0, 1, 2].map((count) => runs.slice(0, count))),
    tools: nullable(names),
    otherTools: fc.array(fc.record({ type: fc.string(), tools: names }), { maxLength: 2 }),
    undeliveredEvents: nullable(fc.array(fc.nat(), { maxLength: 2 })),
    said: fc.constantFrom({ text: "" }, { text: "x", data: null }),
  });
  const accounts = fc.record({
    maxTokens: nullable(fc.nat(2)),
    settled: amounts,
    inDoubt: amounts,
    usage: fc.record({ input: fc.nat(2), output: fc.nat(2) }),
    waitsForTopUp: fc.boolean(),
    turns: fc.nat(2),
  });
  const places = fc.record({
    parentId: fc.constantFrom(null, run.agentId, run.supervision.rootId),
    depth: fc.nat(3),
    spawnBudget: fc.record({ maxAgents: fc.constantFrom(1, 50), allowPreempt: fc.boolean() }),
    executionBudget: fc.constantFrom<ExecutionBudget>({}, { maxTurns: 0 }),
    retention: fc.constantFrom("none", "run", "permanent"),
    priority: fc.constantFrom("low", "normal"),
  });
  fc.assert(
    fc.property(fc.constantFrom(...runs), changes, accounts, places, (id, changed, account, place) => {
      const record: RunRecord = {
        ...run,
        ...changed,
        account: { ...run.account, ...account },
        supervision: { ...run.supervision, ...place },
      };
      expect(decodeRun(id, toStored(encodeRun(id, record)))).toEqual(record);
      expect(decodeRun(id, toStored(record))).toEqual(record);
    }),
  );
});

test("a slot, and the record of a run that has ended, are read as they were written", () => {
  const { slot, runs } = createTree();
  const [root, child] = runs;
  const slots = fc.record({
    parent: fc.constantFrom(null, root ?? null, child ?? null),
    phase: fc.constantFrom("pending", "running", "waiting", "parked"),
    order: fc.nat(3),
    deadline: nullable(fc.nat(2)),
    cancelled: nullable(fc.string()),
    fence: fc.record({ id: fc.constantFrom("", "x"), order: nullable(fc.nat(1)), older: names }),
  });
  const ends = fc.record({
    parentRunId: fc.constantFrom(null, root ?? null, child ?? null),
    retention: fc.constantFrom("none", "run", "permanent"),
    cancel: nullable(fc.nat(1)),
    spentAfter: fc.nat(1),
  });
  const results = fc.record({
    status: fc.constantFrom("completed", "failed"),
    stopReason: fc.constantFrom("answer", "error"),
    output: fc.jsonValue(),
    usage: fc.record({ input: fc.nat(1), output: fc.nat(1) }),
    costMicros: fc.nat(1),
  });
  fc.assert(
    fc.property(fc.constantFrom(...runs), slots, ends, results, (id, changed, end, result) => {
      const now: Slot = { ...slot, ...changed };
      expect(decodeSlot(id, toStored(encodeSlot(id, now)))).toEqual(now);
      expect(decodeSlot(id, toStored(now))).toEqual(now);

      const ended: EndedRecord = {
        agentId: AgentId.of("child"),
        startedAt: 1,
        endedAt: 2,
        ...end,
        result: {
          treeId: RunId.tree(id),
          runId: id,
          inDoubtMicros: 0,
          ...result,
          output: toStored(result.output),
        },
      };
      expect(decodeEnded(id, toStored(encodeEnded(id, ended)))).toEqual(ended);
      expect(decodeEnded(id, toStored(ended))).toEqual(ended);
    }),
  );
});
