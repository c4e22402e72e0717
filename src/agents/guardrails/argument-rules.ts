import type { Guardrail, PermissionRule } from "#kernel";
import { isCall } from "../permissions/rules.ts";

/** A pattern of calls, and the decision about them. An absent field matches anything. */
export interface ArgumentRule extends Pick<PermissionRule, "tool" | "risk" | "arguments"> {
  readonly decision: "warn" | "block" | "halt";
  /** The reason for the model. */
  readonly reason: string;
}

const order = ["halt", "block", "warn"] as const;

/** Creates a guardrail from rules about the arguments of tools. The strictest matching rule counts. */
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
