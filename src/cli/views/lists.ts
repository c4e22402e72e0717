import { AgentId, type ApprovalRecord, type RunRecord } from "#kernel";
import { duration, moment, usd } from "../text/amounts.ts";
import { type Column, table } from "../text/table.ts";
import { clean } from "../text/width.ts";
import type { Screen } from "./screen.ts";
import { reasonText, statusText } from "./status-text.ts";

/** Runs, one line each. */
export function runLines(runs: readonly RunRecord[], screen: Screen): readonly string[] {
  if (runs.length === 0) return ["no runs"];
  const columns: readonly Column<RunRecord>[] = [
    {
      title: "id",
      text: ({ runId, parentRunId, treeId }) => (parentRunId === null ? treeId : runId),
      shrinkTo: 12,
    },
    { title: "agent", text: ({ agentId }) => AgentId.type(agentId), shrinkTo: 8 },
    {
      title: "status",
      text: ({ status }) => statusText(status).text,
      tone: ({ status }) => statusText(status).tone,
    },
    { title: "cost", text: ({ spend }) => usd(spend), align: "right" },
    { title: "started", text: ({ startedAt }) => moment(startedAt) },
    {
      title: "took",
      text: ({ startedAt, endedAt }) => duration((endedAt ?? screen.now) - startedAt),
      align: "right",
    },
    {
      title: "stopped by",
      text: ({ stopReason }) => (stopReason ? reasonText(stopReason) : ""),
      shrinkTo: 6,
    },
  ];
  return table(columns, runs, screen);
}

/** Questions to people: who asks, for what, with which arguments. */
export function approvalLines(approvals: readonly ApprovalRecord[], screen: Screen): readonly string[] {
  if (approvals.length === 0) return ["nothing waits for approval"];
  const columns: readonly Column<ApprovalRecord>[] = [
    { title: "id", text: ({ id }) => id },
    { title: "agent", text: ({ agentId }) => AgentId.type(agentId), shrinkTo: 8 },
    { title: "tool", text: ({ tool }) => clean(tool), shrinkTo: 8 },
    {
      title: "risk",
      text: ({ risk }) => risk,
      tone: ({ risk }) => (risk === "critical" ? "bad" : "waiting"),
    },
    {
      title: "state",
      text: ({ decision, requestedAt }) =>
        decision
          ? `${decision.decision} by ${clean(decision.by ?? "")}`
          : `${duration(screen.now - requestedAt)} pending`,
    },
    { title: "arguments", text: (record) => clean(JSON.stringify(record.arguments)), shrinkTo: 4 },
  ];
  return table(columns, approvals, screen);
}
