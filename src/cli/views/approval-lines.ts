import { AgentId, type SentApproval } from "#kernel";
import { argumentTexts, duration, moment, showMisleading } from "#view";
import { fold, foldWords } from "../text/fold.ts";
import { widthOf } from "../text/width.ts";
import type { Screen } from "./screen.ts";

const indent = "  ";

/** Calls that need approval: each with all of its arguments, in full. */
export function approvalLines(approvals: readonly SentApproval[], screen: Screen): readonly string[] {
  if (approvals.length === 0) return ["nothing waits for approval"];
  return approvals.flatMap((record, index) => [
    ...(index === 0 ? [] : [""]),
    ...approvalText(record, screen),
  ]);
}

/** Formats one call that needs or needed approval: a headline, the reason, and every argument in full. */
export function approvalText(record: SentApproval, screen: Screen): readonly string[] {
  const { id, agentId, tool, risk, decision, requestedAt, expiresAt, why, asks } = record;
  const { paint, now } = screen;
  const tone = risk === "critical" ? "bad" : "waiting";
  const state = decision
    ? `${decision.decision} by ${showMisleading(decision.by ?? "")}`
    : `pending for ${duration(now - requestedAt)}, denied on ${moment(expiresAt)}`;
  const agent = AgentId.type(agentId);
  const call = asks ? `${agent} asks a question` : `${agent} wants to call ${showMisleading(tool)}`;
  const isWide = widthOf(`${id}  ${call} · risk ${risk} · ${state}`) <= screen.width;
  const headline = `${paint("strong", id)}  ${call} · risk ${paint(tone, risk)}`;
  return [
    ...(isWide ? [`${headline} · ${state}`] : [headline, `${indent}${state}`]),
    ...foldWords(showMisleading(why), screen.width - indent.length).map((line) =>
      paint("faint", `${indent}${line}`),
    ),
    ...argumentLines(record, screen.width),
  ];
}

function argumentLines(record: SentApproval, width: number): readonly string[] {
  const folded = argumentTexts(record).map((text) => fold(text, width - 2 * indent.length));
  return folded.flatMap((lines) => lines.map((line, index) => indent.repeat(index === 0 ? 1 : 2) + line));
}
