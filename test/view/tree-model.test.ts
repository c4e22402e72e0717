import { array, assert, constantFrom, nat, property, record } from "fast-check";
import { AgentId, ApprovalId, type NumberedEvent } from "reeve";
import { type EventType } from "#kernel";
import { StepId } from "reeve/store";
import { expect, test } from "vitest";
import { accountsOf, allAgents, spendOf, TreeModel, type TreeSnapshot } from "../../src/view/index.ts";
import { askingTeam, Story } from "../cli/story.ts";

const limits = { maxCostMicros: 500, maxTokens: null, maxTurns: 9, deadlineAt: null };

/** Steps that any run of a small tree may take, in any order, including impossible ones. */
const steps: readonly ((story: Story, run: number, key: string) => Story)[] = [
  (story, run) => story.starts(run, `agent${run}`, run === 0 ? {} : { parent: Math.floor((run - 1) / 2) }),
  (story, run) => story.tell(run, "run.start", { priority: "low", parentRunId: null, limits }),
  (story, run, key) => story.asks(run, key, { reserve: 90 }),
  (story, run, key) => story.answers(run, key, 40),
  (story, run, key) => story.tell(run, "budget.settled", { tokens: 1, costMicros: 7, inDoubt: true }, key),
  (story, run) => story.waitsForBudget(run, 2),
  (story, run) => story.denies(run, { dimension: "cost", limit: 500, used: 490 }),
  (story, run) => story.tell(run, "budget.topped-up", { tokens: 5, costMicros: 100, turns: 1 }),
  (story, run, key) => story.tell(run, "tool.start", { tool: "search", callId: key }, key),
  (story, run, key) => story.tell(run, "tool.start", { tool: "spawn", callId: key }),
  (story, run, callId) => story.tell(run, "tool.end", { tool: "x", callId, status: "ok", durationMs: 1 }),
  (story, run) => story.tell(run, "run.paused", { cause: "held" }),
  (story, run) => story.tell(run, "run.resumed", { cause: "released" }),
  (story, run, key) =>
    story.tell(run, "approval.requested", {
      approvalId: ApprovalId.of(StepId.of(story.run(run), "tool", 1), key.length),
      tool: "send_email",
      why: "it leaves the house",
    }),
  (story, run, key) =>
    story.tell(run, "approval.decided", {
      approvalId: ApprovalId.of(StepId.of(story.run(run), "tool", 1), key.length),
      decision: "approved",
      by: "dana",
    }),
  (story, run) =>
    story.tell(run, "spawn.queued", {
      child: story.run(run * 2 + 2),
      childAgent: AgentId.of("late"),
      victim: story.run(1),
    }),
  (story, run) => story.tell(run, "cycle.end", { step: 1 }),
  (story, run) => story.tell(run, "run.cancelling", { reason: "user" }),
  (story, run) => story.ends(run, { costMicros: 60 }),
];

const stories = array(
  record({
    step: nat(steps.length - 1),
    run: nat(4),
    key: constantFrom("a", "b", "__proto__", "1"),
    ms: nat(3_000),
  }),
  { maxLength: 60 },
).map((taken) => {
  const story = new Story().starts(0, "lead");
  for (const { step, run, key, ms } of taken) steps[step]?.(story.advance(ms), run, key);
  return story.events;
});

const throughJson = (snapshot: TreeSnapshot): TreeSnapshot => JSON.parse(JSON.stringify(snapshot));

test("a snapshot at any event and the rest of the events make the same tree as all events", () => {
  assert(
    property(stories, nat(80), (events, cut) => {
      const at = 1 + (cut % events.length);
      const resumed = TreeModel.from(throughJson(TreeModel.of(events.slice(0, at)).snapshot()));
      for (const event of events.slice(at)) resumed.apply(event);
      const whole = TreeModel.of(events);
      expect(resumed.view).toEqual(whole.view);
      expect(throughJson(resumed.snapshot())).toEqual(throughJson(whole.snapshot()));
    }),
    { numRuns: 500 },
  );
});

test("an event makes new views only of the runs with changed figures", () => {
  assert(
    property(stories, (events) => {
      const model = TreeModel.of(events.slice(0, 1));
      for (const event of events.slice(1)) {
        const before = new Map([...allAgents(rootOf(model))].map((view) => [view.runId, view]));
        const { version } = model;
        model.apply(event);
        const changed = new Set(model.changedSince(version).map(({ runId }) => runId));
        for (const view of allAgents(rootOf(model)))
          expect(changed.has(view.runId)).toBe(before.get(view.runId) !== view);
      }
    }),
    { numRuns: 100 },
  );
});

test("the lane of a run shows its activity over time, in at most 200 spans", () => {
  const story = new Story().starts(0, "lead").advance(10);
  for (let call = 0; call < 400; call += 1) {
    story.asks(0, `a${call}`, {}).advance(100).answers(0, `a${call}`, 1).advance(5);
  }
  const { lane } = rootOf(TreeModel.of(story.events));
  expect(lane.length).toBeLessThanOrEqual(200);
  // An answer takes 800 ms by itself.
  expect(lane.at(-1)).toEqual(["model", 10 + 399 * 905, 10 + 399 * 905 + 900]);
  expect(lane[0]?.[1]).toBe(10);
  for (const [index, [, from, to]] of lane.entries()) {
    expect(to).toBeGreaterThan(from);
    expect(from).toBeGreaterThanOrEqual(lane[index - 1]?.[2] ?? 0);
  }
});

test("a child that asks a person is counted at every run above it", () => {
  const view = TreeModel.of(askingTeam().events).view;
  expect(view?.counts.asks).toBe(1);
  expect(view?.root.asks.map(({ tool, runId }) => [tool, runId])).toEqual(
    [...allAgents(rootOf(TreeModel.of(askingTeam().events)))]
      .filter(({ activity }) => activity.kind === "approval")
      .map(({ activity, runId }) => [activity.kind === "approval" ? activity.tool : "", runId]),
  );
});

test("the money of a tree has four parts and names the account with the least left", () => {
  const start = { priority: "normal", parentRunId: null, limits } as const;
  const treeLimits = { maxCostMicros: 400, maxTokens: null, maxAgents: 5 };
  const story = new Story().tell(0, "run.start", { ...start, treeLimits });
  story.starts(1, "writer", { parent: 0 });
  story.tell(1, "run.start", {
    ...start,
    parentRunId: story.run(0),
    limits: { ...limits, maxCostMicros: 100 },
  });
  story.asks(1, "a", { reserve: 30 }).answers(1, "a", 20).asks(1, "b", { reserve: 50 });
  story.tell(0, "budget.topped-up", { tokens: 0, costMicros: 100, turns: 0 });
  const view = TreeModel.of(story.events).view;
  if (!view) throw new Error("no tree");
  expect(spendOf(view.root, view)).toEqual({
    settledMicros: 20,
    reservedMicros: 50,
    inDoubtMicros: 0,
    maxCostMicros: 500,
    freeMicros: 430,
  });
  expect(
    accountsOf(view, story.run(1)).map(({ kind, freeMicros, isTightest }) => [kind, freeMicros, isTightest]),
  ).toEqual([
    ["run", 30, true],
    ["parent", 530, false],
    ["tree", 430, false],
  ]);
});

test("an event of a type that is not known changes nothing but the sequence", () => {
  const { events } = askingTeam();
  const model = TreeModel.of(events);
  const before = model.root;
  const last = events.at(-1);
  if (!last) throw new Error("no event");
  const type: EventType = JSON.parse('"later.invented"');
  const unknown: NumberedEvent = JSON.parse(JSON.stringify({ ...last, seq: last.seq + 1, type, runId: "x" }));
  model.apply(unknown);
  expect([model.seq, model.root]).toEqual([last.seq + 1, before]);
});

function rootOf({ root }: TreeModel): NonNullable<TreeModel["root"]> {
  if (!root) throw new Error("no root");
  return root;
}
