import { Json, ToolRefusedError, type Tool } from "#kernel";
import { narrowed, stricter, verdictOf } from "#agents";
import type { ToolHost } from "./tool-host.ts";
import { messageOf } from "./tool-outcome.ts";

/** What may be done about a call. */
export type Decision =
  | { readonly kind: "allowed"; readonly value: Json }
  /** Somebody has to approve exactly this. */
  | { readonly kind: "ask"; readonly value: Json; readonly why: string }
  /** `isDenied`: by a policy, not because the arguments are bad. */
  | { readonly kind: "refused"; readonly refusal: string; readonly isDenied: boolean };

/**
 * Decoded, valid, and allowed. The value that was checked is frozen, and is the value that runs. One that somebody has
 * approved was checked before.
 */
export async function decide(
  host: ToolHost,
  tool: Tool,
  input: Json,
  approved: "approved" | "edited" | null,
): Promise<Decision> {
  const checked = approved === "approved" ? { value: input } : await validated(tool, input);
  if ("refusal" in checked) return { kind: "refused", ...checked, isDenied: false };
  const value = frozen(checked.value);
  const { name, risk } = tool;
  const { agentId, scope, rules } = host;
  const request = { tool: name, risk, input: value, agentId, runId: scope.runId, tenantId: scope.tenantId };
  const above = narrowed(rules, request);
  const verdict = stricter(await verdictOf(host.policy.permissions ?? host.permissions, request), above);
  if (verdict === "allow" || (verdict === "ask" && approved !== null)) return { kind: "allowed", value };
  if (verdict === "ask" && host.approvals.approver !== null)
    return { kind: "ask", value, why: `the policy asks about ${name}, whose risk is ${risk}` };
  const why =
    verdict === "ask" ? `its risk is ${risk} and nobody is here to approve it` : "the policy denies it";
  const remedy =
    above === "deny"
      ? "those who hired this run forbid it"
      : `permissions([{ tool: "${name}", verdict: "allow" }]) would allow it`;
  const refusal = `${new ToolRefusedError({ tool: name, reason: why }).message}; ${remedy}`;
  return { kind: "refused", refusal, isDenied: true };
}

type Checked = { readonly value: Json } | { readonly refusal: string };

/** A schema is somebody's code: what it throws is a refusal like any other. */
async function validated({ input: schema }: Tool, input: Json): Promise<Checked> {
  try {
    const checked = await schema["~standard"].validate(input);
    if (!checked.issues) return { value: Json.of(checked.value) };
    return { refusal: `bad input: ${checked.issues.map(({ message }) => message).join("; ")}` };
  } catch (error) {
    return { refusal: `bad input: ${messageOf(error)}` };
  }
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
