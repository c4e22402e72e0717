import type { RunRecord } from "reeve/kernel";
import { AgentId, SessionId } from "reeve/kernel";
import { expect, test } from "vitest";
import { exactUsd } from "../../src/cli/text/amounts.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { everybody, TreeModel } from "../../src/cli/tree/tree-model.ts";
import { runLines } from "../../src/cli/views/lists.ts";
import { receiptLines } from "../../src/cli/views/receipt.ts";
import { approval, askingTeam, Story } from "./story.ts";

/** The letter was sent; a call of the clerk was lost on the way. */
function finished(): Story {
  const story = askingTeam();
  story.tell(2, "approval.decided", { approvalId: approval, decision: "approved", by: "ada" });
  story.asks(2, "lost", { reserve: 12_000 }).asks(2, "d2", { cost: 1_675 });
  story.ends(2, { spend: 16_665 }).asks(0, "a3", { cost: 4_030 });
  return story.ends(0, { status: "landed", stopReason: "budget.cost", spend: 32_840, durationMs: 131_000 });
}

function receipt(width: number): readonly string[] {
  const { root } = TreeModel.of(finished().events);
  if (!root) throw new Error("no root");
  const usage = { input: 3_062, output: 109, cachedInput: 512 };
  const result = {
    status: "landed",
    stopReason: "budget.cost",
    usage,
    spend: 32_840,
    inDoubt: 12_000,
  } as const;
  return receiptLines(root, { ...result, error: undefined }, { width, paint: plainPaint, now: 0 });
}

test.each([80, 140])("a receipt says who spent what, and what is in doubt, at %i columns", (width) => {
  const lines = receipt(width);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines).toMatchSnapshot();
});

test("the own costs on a receipt add up to the total", () => {
  const { root } = TreeModel.of(finished().events);
  if (!root) throw new Error("no root");
  const own = [...everybody(root)].reduce((sum, run) => sum + run.own.spend, 0);
  expect(exactUsd(own)).toBe(exactUsd(32_840));
  expect(receipt(80).join("\n")).toContain("total $0.032840");
});

test.each([80, 140])("a list of runs fits %i columns", (width) => {
  const { treeId, now } = new Story();
  const record: RunRecord = {
    treeId,
    runId: new Story().run(0),
    parentRunId: null,
    agentId: AgentId.of("boss"),
    userId: null,
    sessionId: SessionId.of("s"),
    status: "landed",
    stopReason: "budget.cost",
    startedAt: now,
    endedAt: now + 61_000,
    spend: 32_840,
    seq: 9,
  };
  const lines = runLines([record], { width, paint: plainPaint, now });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(/^mill-books +boss +▾ landed +\$0\.0328 .* 1m 1s +cost budget$/);
});
