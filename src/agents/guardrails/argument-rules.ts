import type { Guardrail, PermissionRule } from "#kernel";
import { isCall } from "../permissions/rules.ts";

/** Calls, and what to do about them. What is absent matches anything. */
export interface ArgumentRule extends Pick<PermissionRule, "tool" | "risk" | "arguments"> {
  readonly decision: "warn" | "block" | "halt";
  /** What the model is told. */
  readonly reason: string;
}

const order = ["halt", "block", "warn"] as const;

/** Rules about the arguments of tools, as data. The strictest that matches counts. */
export function argumentRules(rules: readonly ArgumentRule[]): Guardrail {
  const sorted = rules.toSorted((one, other) => order.indexOf(one.decision) - order.indexOf(other.decision));
  return {
    name: "argument-rules",
    beforeCall: (call) => {
      const rule = sorted.find((candidate) => isCall(candidate, call));
      return rule ? { kind: rule.decision, reason: rule.reason } : { kind: "allow" };
    },
  };
}
