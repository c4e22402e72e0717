import type { ReactNode } from "react";
import type { AgentRecord, ToolRecord } from "../api/records.ts";
import { count } from "../parts/amounts.ts";

const risks = ["safe", "high", "critical"] as const;

/** The highest risk among tools. */
export const worstRisk = (tools: readonly ToolRecord[]): ToolRecord["risk"] =>
  risks.findLast((risk) => tools.some((tool) => tool.risk === risk)) ?? "safe";

/** Shows a risk. Only risks that need approval have a colour. */
export function RiskPill({ risk }: { readonly risk: ToolRecord["risk"] }): ReactNode {
  return <span className={{ safe: "pill", high: "pill ask", critical: "pill bad" }[risk]}>{risk}</span>;
}

/** Describes the limits of an agent's runs. */
export function budgetText(budget: AgentRecord["budget"]): string {
  if (!budget) return "none";
  const { maxCostUsd, maxTokens, maxTurns, deadlineS } = budget;
  const parts = [
    maxCostUsd !== undefined && `$${maxCostUsd.toFixed(2)}`,
    maxTokens !== undefined && `${count(maxTokens)} tokens`,
    maxTurns !== undefined && `${count(maxTurns)} model calls`,
    deadlineS !== undefined && `${count(deadlineS)} s`,
  ].filter(Boolean);
  return parts.length === 0 ? "none" : parts.join(", ");
}
