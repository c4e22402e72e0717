import type { RunRecord } from "reeve/store";
import { AgentId, SessionId } from "reeve";
import { expect, test } from "vitest";
import { exactUsd, allAgents, TreeModel } from "../../src/view/index.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { runLines } from "../../src/cli/views/lists.ts";
import { receiptLines } from "../../src/cli/views/receipt.ts";
import { approval, askingTeam, Story } from "./story.ts";

/** The e-mail was sent; one call of the writer was lost. */
function finishedStory(): Story {
  const story = askingTeam();
  story.tell(2, "approval.decided", { approvalId: approval, decision: "approved", by: "ada" });
  story.asks(2, "lost", { reserve: 12_000 }).asks(2, "d2", { cost: 1_675 });
  story.ends(2, { costMicros: 16_665 }).asks(0, "a3", { cost: 4_030 });
  story.denies(0, { dimension: "cost", limit: 35_000, used: 32_840, inDoubt: 12_000 });
  return story.ends(0, {
    status: "landed",
    stopReason: "budget.cost",
    costMicros: 32_840,
    durationMs: 131_000,
  });
}

function receipt(width: number): readonly string[] {
  const { root } = TreeModel.of(finishedStory().events);
  if (!root) throw new Error("no root");
  const usage = { input: 3_062, output: 109, cachedInput: 512 };
  const result = {
    status: "landed",
    stopReason: "budget.cost",
    usage,
    costMicros: 32_840,
    inDoubtMicros: 12_000,
  } as const;
  return receiptLines(root, { ...result, error: undefined }, { width, paint: plainPaint, now: 0 });
}

test.each([80, 140])(
  "a receipt shows the spend of each agent and the amount in doubt, at %i columns",
  (width) => {
    const lines = receipt(width);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
    expect(lines).toMatchSnapshot();
  },
);

test("the own costs on a receipt add up to the total", () => {
  const { root } = TreeModel.of(finishedStory().events);
  if (!root) throw new Error("no root");
  const own = [...allAgents(root)].reduce((sum, run) => sum + run.own.costMicros, 0);
  expect(exactUsd(own)).toBe(exactUsd(32_840));
  expect(receipt(80).join("\n")).toContain("total $0.032840");
});

test("a receipt shows the limit that stopped each run, and the remedy", () => {
  const story = new Story().starts(0, "lead");
  for (const child of [1, 2, 3, 4]) {
    story.starts(child, child < 4 ? "writer" : "researcher", { parent: 0 });
    story.denies(child, { dimension: "tokens", account: "subtree", limit: 9_000, used: 8_990 });
    story.ends(child, { status: "failed", stopReason: "budget.tokens", costMicros: 0 });
  }
  story.ends(0, { costMicros: 0 });
  const { root } = TreeModel.of(story.events);
  if (!root) throw new Error("no root");
  const error = { code: "budget-exhausted", message: "tokens budget exhausted" };
  const usage = { input: 0, output: 0 };
  const result = {
    status: "completed",
    stopReason: "answer",
    usage,
    costMicros: 0,
    inDoubtMicros: 0,
  } as const;
  const lines = receiptLines(root, { ...result, error }, { width: 80, paint: plainPaint, now: 0 });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(80);
  expect(lines.slice(lines.findIndex((line) => line.startsWith("total")))).toMatchSnapshot();
});

test.each([80, 140])("a list of runs fits %i columns", (width) => {
  const { treeId, now } = new Story();
  const record: RunRecord = {
    treeId,
    runId: new Story().run(0),
    parentRunId: null,
    agentId: AgentId.of("lead"),
    userId: null,
    sessionId: SessionId.of("s"),
    status: "landed",
    stopReason: "budget.cost",
    startedAt: now,
    endedAt: now + 61_000,
    costMicros: 32_840,
    inDoubtMicros: 0,
    reservedMicros: 0,
    maxCostMicros: null,
    name: null,
    agents: 1,
    liveAgents: 0,
    seq: 9,
  };
  const lines = runLines([record], { width, paint: plainPaint, now });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(/^heat-pumps +lead +▾ landed +\$0\.0328 .* 1m 1s +cost budget$/);
});
