import {
  ContentBlock,
  GuardrailHalt,
  ToolResult,
  type Diagnostic,
  type GuardedMoment,
  type GuardrailDecision,
  type Json,
  type Tool,
} from "#kernel";
import { checkGuardrails, GatedStep, type StepExecution } from "./gated-step.ts";
import { toGuardedTool, type GuardrailLog, type GuardrailSubject } from "./guardrails.ts";
import type { RunServices } from "./run-services.ts";

const hooks = { turn: "onTurnStart", input: "onInput", output: "onOutput" } as const;

/** Whether a guardrail checks this stage. Resets the guardrails' notes when a turn begins. */
export function isGuarded({ policy }: RunServices, moment: GuardedMoment): boolean {
  if (moment === "turn") policy.guardrails.newTurn();
  return policy.launch.guardrailHooks.includes(hooks[moment]);
}

/** Runs the guardrails on a text, in a separate step. @throws GuardrailHalt */
export async function guard(
  services: RunServices,
  moment: GuardedMoment,
  text: string,
): Promise<GuardrailDecision> {
  const hook = hooks[moment];
  const step = new GatedStep(services, { kind: "guard", subject: `${hook}/${text}`, of: "tool", hook });
  const show: GuardrailSubject["show"] = (guardrail, scope) => guardrail[hook]?.({ text }, scope);
  const record = await step.run((execution) => checkGuardrails(services, execution, { hook, show }));
  switch (record.kind) {
    case "allow":
      return { kind: "allow" };
    case "warn":
      return { kind: "warn", reason: record.warnings.join("; ") };
    case "block":
      return { kind: "block", reason: record.reason };
    case "halt":
      throw new GuardrailHalt(record);
  }
}

/** The result of a tool call after its guardrails. */
export interface GuardedOutcome {
  readonly result: ToolResult;
  readonly after?: GuardrailLog | undefined;
  readonly halt?: { readonly guardrail: string; readonly reason: string } | undefined;
  /** The error of the tool's code, or of a layer around it. */
  readonly diagnostic?: Diagnostic | undefined;
}

/** Runs the guardrails on the result of a tool call, inside the call's step. */
export async function checkResult(
  services: RunServices,
  execution: StepExecution,
  { tool, input, result }: { readonly tool: Tool; readonly input: Json; readonly result: ToolResult },
): Promise<GuardedOutcome> {
  if (!services.policy.guardrails.has("afterCall")) return { result };
  const call = { ...toGuardedTool(tool), input };
  const checked = await checkGuardrails(services, execution, {
    hook: "afterCall",
    show: (guardrail, scope, changed) =>
      guardrail.afterCall?.({ ...call, result: changed ? { ...result, content: changed } : result }, scope),
    onFailure: tool.risk === "safe" ? "allow" : "block",
  });
  if (!checked) return toUncheckedOutcome(tool, result);
  const { kind, guardrail, reason, content, warnings, heard } = checked;
  if (kind === "halt") return { result, after: heard, halt: { guardrail, reason } };
  if (kind === "block") return { result: ToolResult.failure(`withheld: ${reason}`), after: heard };
  const shown = content ? { ...result, content } : result;
  return { result: addWarnings(shown, warnings), after: heard };
}

/**
 * Returns the outcome of an interrupted check, because the run had to stop or to yield. It counts as a failed
 * guardrail.
 */
function toUncheckedOutcome({ risk }: Tool, result: ToolResult): GuardedOutcome {
  const reason = "the guardrails were interrupted";
  const decision = risk === "safe" ? "allow" : "block";
  const after = { trips: [{ guardrail: "guardrails", reason, decision } as const], notes: [] };
  return { result: risk === "safe" ? result : ToolResult.failure(`withheld: ${reason}`), after };
}

/** Throws if a guardrail has ended the run over the result of a call. @throws GuardrailHalt */
export function throwHalt({ halt }: GuardedOutcome): void {
  if (halt) throw new GuardrailHalt(halt);
}

/** Returns a result with warnings for the model. */
export function addWarnings(result: ToolResult, warnings: readonly string[] = []): ToolResult {
  if (warnings.length === 0) return result;
  const notes = warnings.map((reason) => ContentBlock.text(`Note: ${reason}.`));
  return { ...result, content: [...result.content, ...notes] };
}
