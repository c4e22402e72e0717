import { AgentId, ExecutionBudget, Priority, RunId, SessionId, SpawnBudget, TreeId } from "reeve";
import { Supervision } from "#kernel";
import { describe, expect, test } from "vitest";

const treeId = TreeId.of("t");
const lead = AgentId.of("lead");
const root = Supervision.root(lead, { treeId, runId: RunId.root(treeId), sessionId: SessionId.of("s") });
const spawn = (from: Supervision, number: number, rest = {}): Supervision =>
  Supervision.child(from, {
    runId: RunId.of(treeId, number),
    agentId: AgentId.of("researcher"),
    parentId: from.agentId,
    ...rest,
  });

describe("1.1", () => {
  test("a root has depth 0, permanent retention, normal priority, 50 agents with preemption, no execution limit", () => {
    expect(root).toMatchObject({
      depth: 0,
      parentId: null,
      retention: "permanent",
      priority: "normal",
      executionBudget: {},
    });
    expect(root.spawnBudget).toEqual({ maxAgents: 50, allowPreempt: true });
  });

  test("a child has the same tree, session and spawn budget object, is one deeper, and has retention run", () => {
    const child = spawn(root, 1);
    expect(child).toMatchObject({
      treeId,
      sessionId: "s",
      depth: 1,
      parentId: lead,
      parentRunId: root.runId,
      retention: "run",
    });
    expect(child.spawnBudget).toBe(root.spawnBudget);
    expect(Supervision.child(root, { runId: child.runId, agentId: lead, parentId: lead }).rootId).toBe(lead);
  });

  test("a child's priority is normal, not its parent's; its execution budget is its parent's unless given", () => {
    const urgent = {
      ...root,
      priority: Priority.critical,
      executionBudget: ExecutionBudget.of({ maxTurns: 3 }),
    };
    expect(spawn(urgent, 1)).toMatchObject({ priority: "normal", executionBudget: { maxTurns: 3 } });
    expect(spawn(urgent, 1, { executionBudget: { maxTurns: 1 } }).executionBudget).toEqual({ maxTurns: 1 });
  });
});

test("1.2 depth is informational: nothing limits it", () => {
  let deep = root;
  for (let number = 1; number <= 1000; number++) deep = spawn(deep, number);
  expect(deep.depth).toBe(1000);
});

test("1.3 a tree has one progress topic, and only its root has no parent", () => {
  expect(Supervision.progressTopic(spawn(root, 1))).toBe(Supervision.progressTopic(root));
  expect(Supervision.progressTopic(root)).toBe("agent.progress/t");
  expect([Supervision.isRoot(root), Supervision.isRoot(spawn(root, 1))]).toEqual([true, false]);
});

test("1.4 supervision is frozen plain JSON", () => {
  const child = spawn(root, 1);
  expect(Object.isFrozen(child)).toBe(true);
  expect(JSON.parse(JSON.stringify(child))).toEqual(child);
});

test("priorities have the weights 0, 1, 2, 4 and 8", () => {
  expect(Priority.all.map(Priority.weight)).toEqual([0, 1, 2, 4, 8]);
});

test.each([0, -1, 1.5, Number.NaN])("maxAgents %s is refused", (maxAgents) => {
  expect(() => SpawnBudget.of({ maxAgents })).toThrow(RangeError);
});

test.each([
  { maxTokens: -1 },
  { maxTokens: 1.5 },
  { maxCostUsd: Number.NaN },
  { maxCostUsd: -1 },
  { maxCostUsd: Infinity },
  { maxCostUsd: 9_007_199_255 },
  { maxTurns: 0.5 },
  { deadlineS: -1 },
  { deadlineS: Number.NaN },
  { deadlineS: Infinity },
])("the limit %j is refused", (limits) => {
  expect(() => ExecutionBudget.of(limits)).toThrow(RangeError);
});
