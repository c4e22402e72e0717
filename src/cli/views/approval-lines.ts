import { AgentId, type ApprovalRecord, isJsonObject, type Json } from "#kernel";
import { duration, moment } from "../text/amounts.ts";
import { fold, visible } from "../text/visible.ts";
import type { Screen } from "./screen.ts";

const indent = "  ";

/** Calls that need approval: each with all of its arguments, in full. */
export function approvalLines(approvals: readonly ApprovalRecord[], screen: Screen): readonly string[] {
  if (approvals.length === 0) return ["nothing waits for approval"];
  return approvals.flatMap((record, index) => [
    ...(index === 0 ? [] : [""]),
    ...approvalText(record, screen),
  ]);
}

/** One call that needs approval, or needed it: a headline, the reason, and every argument in full. */
export function approvalText(record: ApprovalRecord, screen: Screen): readonly string[] {
  const { id, agentId, tool, risk, decision, requestedAt, expiresAt, why, asks } = record;
  const { paint, now } = screen;
  const tone = risk === "critical" ? "bad" : "waiting";
  const state = decision
    ? `${decision.decision} by ${visible(decision.by ?? "")}`
    : `pending for ${duration(now - requestedAt)}, refused on ${moment(expiresAt)}`;
  const agent = AgentId.type(agentId);
  const call = asks ? `${agent} asks a person` : `${agent} wants to call ${visible(tool)}`;
  return [
    `${paint("strong", id)}  ${call} · risk ${paint(tone, risk)} · ${state}`,
    ...fold(visible(why), screen.width - indent.length).map((line) => paint("faint", `${indent}${line}`)),
    ...argumentLines(record.arguments, screen.width),
  ];
}

/** Every argument in full, as JSON, with the names of characters that a terminal would not show, and the length of a long one. */
export function argumentTexts(given: Json): readonly string[] {
  if (given === null) return ["no arguments: there were none, or they were erased"];
  const entries = isJsonObject(given) ? Object.entries(given) : [["arguments", given] as const];
  if (entries.length === 0) return ["no arguments"];
  return entries.map(([name, value]) => {
    const text = JSON.stringify(value);
    const length = text.length > shortLength ? ` (${text.length} characters)` : "";
    return `${visible(name)}${length}: ${visible(text)}`;
  });
}

/** Characters of an argument that need no count: its end is easily seen. */
const shortLength = 100;

function argumentLines(given: Json, width: number): readonly string[] {
  const folded = argumentTexts(given).map((text) => fold(text, width - 2 * indent.length));
  return folded.flatMap((lines) => lines.map((line, index) => indent.repeat(index === 0 ? 1 : 2) + line));
}
