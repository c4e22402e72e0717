import { AgentId } from "reeve";
import { expect, test } from "vitest";
import { TreeModel } from "../../src/view/index.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { treeHeadline, treeLines } from "../../src/cli/views/tree-lines.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { askingTeam, Story } from "./story.ts";

function linesOfTree(story: Story, width: number, cap = 100_000): readonly string[] {
  const model = TreeModel.of(story.events);
  for (const delta of story.deltas) model.applyDelta(delta);
  const { root } = model;
  if (!root) throw new Error("no root");
  const screen = { width, paint: plainPaint, now: story.now };
  const caps = { tree: 500_000, runs: new Map([[story.run(1), cap]]) };
  return [treeHeadline(root, caps, screen), ...treeLines(root, caps, screen)];
}

test.each([80, 140])("a running team fits %i columns", (width) => {
  const lines = linesOfTree(askingTeam(), width);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines).toMatchSnapshot();
});

test.each([80, 140])("a deep tree with every blocking cause fits %i columns", (width) => {
  const lines = linesOfTree(crowd(), width, 250_000);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines).toMatchSnapshot();
});

test("a run that has ended is drawn with the limit of its start", () => {
  const limits = { maxCostMicros: 250_000, maxTokens: null, maxTurns: null, deadlineAt: null };
  const story = new Story().tell(0, "run.start", { priority: "normal", parentRunId: null, limits });
  const root = TreeModel.of(story.ends(0, { costMicros: 6_300 }).events).root;
  if (!root) throw new Error("no root");
  const lines = treeLines(root, { tree: null, runs: new Map() }, { width: 80, paint: plainPaint, now: 0 });
  expect(lines.join("")).toMatch(/\$0\.0063\/\$0\.25 █░░░░░░░/);
});

test("a tree without limits has no bars", () => {
  const root = TreeModel.of(askingTeam().events).root;
  if (!root) throw new Error("no root");
  const lines = treeLines(root, { tree: null, runs: new Map() }, { width: 80, paint: plainPaint, now: 0 });
  expect(lines.join("")).not.toMatch(/[█▒░]/);
});

test("an event that comes again changes nothing", () => {
  const { events } = askingTeam();
  const once = TreeModel.of(events);
  const twice = TreeModel.of(events.flatMap((event) => [event, event]));
  expect(twice.root).toEqual(once.root);
});

test("a tool's text cannot move the cursor or colour the screen", () => {
  const story = new Story().starts(0, "lead");
  story.tell(0, "tool.start", { tool: "fetch", callId: "c1" }, "t1");
  story.updates(0, { tool: "fetch", callId: "c1", progress: "\u001B[2J\u001B]0;owned\u0007 50 %\n\n" });
  expect(linesOfTree(story, 80).join("\n")).toContain("running fetch, 0.0s: [2J ]0;owned  50 %");
});

test("a call lost with its worker is in doubt, and no longer the run's current activity", () => {
  const story = new Story().starts(0, "lead").asks(0, "lost", { reserve: 90_000 }).advance(5_000);
  story.asks(0, "again", {}).advance(500);
  expect(linesOfTree(story, 80)[1]).toContain("calling claude-sonnet-4-5, 0.5s");
  story.answers(0, "again", 4_000).tell(0, "cycle.end", { step: 1 });
  const live = TreeModel.of(story.events).root;
  expect(live).toMatchObject({
    costMicros: 94_000,
    reservedMicros: 0,
    lostCalls: 1,
    own: { inDoubtMicros: 90_000 },
  });
  story.tell(0, "budget.settled", { tokens: 9, costMicros: 3_000, inDoubt: false }, "lost");
  const late = TreeModel.of(story.events).root;
  expect(late).toMatchObject({ costMicros: 7_000, lostCalls: 0, own: { inDoubtMicros: 0 } });
});

/** One run in every state. */
function crowd(): Story {
  const story = new Story().starts(0, "lead").asks(0, "a1", { cost: 100_000 });
  story.tell(0, "tool.start", { tool: "ask_editor", callId: "c1" });
  story.starts(1, "editor", { parent: 0 }).asks(1, "f1", { cost: 60_000 });
  story.tell(1, "tool.start", { tool: "survey", callId: "c2" });
  story
    .starts(2, "researcher/market-data-with-a-very-long-name", { parent: 1 })
    .asks(2, "d1", { reserve: 30_000 });
  story.starts(3, "fetcher", { parent: 1 }).tell(3, "tool.start", { tool: "fetch", callId: "c3" }, "t1");
  story.updates(3, { tool: "fetch", callId: "c3", progress: "市場の記録を読む 2/9" });
  story.starts(4, "retrier", { parent: 1 });
  const error = { code: "model", kind: "rate-limit", message: "slow down" };
  story.tell(4, "retry.start", { retry: 1, delayMs: 8_000, error });
  story.starts(5, "sleeper", { parent: 1, priority: "low" }).tell(5, "run.paused", { cause: "preempted" });
  story.starts(6, "held", { parent: 1 }).tell(6, "run.paused", { cause: "held" });
  story.tell(1, "spawn.queued", {
    child: story.run(7),
    childAgent: AgentId.of("taker"),
    victim: story.run(5),
  });
  story
    .starts(8, "lost", { parent: 1 })
    .asks(8, "l1", {})
    .ends(8, {
      status: "failed",
      stopReason: "error",
      costMicros: 90_000,
      error: { code: "model", kind: "auth" },
    });
  story
    .starts(9, "lander", { parent: 1 })
    .ends(9, { status: "landed", stopReason: "budget.cost", costMicros: 40_000 });
  story.starts(10, "stopped", { parent: 1 }).tell(10, "run.cancelling", { reason: "user" });
  return story.advance(3_000);
}
