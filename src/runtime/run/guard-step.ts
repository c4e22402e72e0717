import { randomUUID } from "node:crypto";
import {
  ContentBlock,
  GuardrailHalt,
  Labels,
  ToolResult,
  type GuardedCall,
  type GuardedMoment,
  type GuardrailDecision,
  type Json,
  type StepIo,
  type Tool,
} from "#kernel";
import { stepScope } from "./step-scope.ts";
import type { GuardHook, Heard, Look, Looking, LookPlace } from "./guards.ts";
import { ModelCalls, type Charge, type Stop } from "./model-calls.ts";
import { settleCharges } from "./model-step.ts";
import { journaled, placeStep, type StepPlace } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";

const hooks = { turn: "onTurnStart", input: "onInput", output: "onOutput" } as const;

/** Lets the guardrails look at words; null where none wants to. @throws GuardrailHalt */
export function guard(
  host: ToolHost,
  moment: GuardedMoment,
  text: string,
): Promise<GuardrailDecision> | null {
  if (moment === "turn") host.guards.newTurn();
  const hook = hooks[moment];
  return host.guards.has(hook) ? lookAtText(host, hook, text) : null;
}

type TextLook = (Omit<Look, "content"> | Stop) & {
  readonly charges: readonly Charge[];
  readonly reported: number;
};

async function lookAtText(
  host: ToolHost,
  hook: (typeof hooks)[GuardedMoment],
  text: string,
): Promise<GuardrailDecision> {
  const place = placeStep(host, "guard", `${hook}/${text}`);
  for (;;) {
    const record = await journaled(host, place, async (io): Promise<TextLook> => {
      const calls = new ModelCalls(host, place, io, { of: "tool" });
      const looking: Looking = (guardrail, scope) => guardrail[hook]?.({ text }, scope);
      const look = await host.guards.look(host, hook, looking, lookPlace(host, { place, io, calls }, hook));
      return { ...(look ?? stopOf(calls)), charges: calls.charges, reported: calls.reported };
    });
    host.driver.outbox.acknowledge(record.reported);
    settleCharges(host, record);
    switch (record.kind) {
      case "cancelled":
        return host.driver.stopped(record.reason);
      case "paused":
      case "interrupted":
      case "later":
        await host.driver.refresh();
        break;
      case "allow":
        hear(host, `${place.id}/${hook}`, record.heard);
        return { kind: "allow" };
      case "warn":
        hear(host, `${place.id}/${hook}`, record.heard);
        return { kind: "warn", reason: record.warnings.join("; ") };
      case "block":
        hear(host, `${place.id}/${hook}`, record.heard);
        return { kind: "block", reason: record.reason };
      case "halt":
        hear(host, `${place.id}/${hook}`, record.heard);
        throw new GuardrailHalt(record);
    }
  }
}

/** The step in whose closure a look happens. */
export interface LookingStep {
  readonly place: StepPlace;
  readonly io: StepIo;
  readonly calls: ModelCalls;
}

/** A look in a closure. Only around a safe tool is a guardrail that fails passed over. */
export function lookPlace(
  host: ToolHost,
  { place, io, calls }: LookingStep,
  hook: GuardHook,
  failing: LookPlace["failing"] = "block",
): LookPlace {
  return {
    key: `${place.id}/${hook}`,
    scope: stepScope(host, io, calls, host.model),
    nonce: randomUUID().replaceAll("-", ""),
    failing,
    mustStop: () => calls.mustStop(),
  };
}

/** How a step ends that has to. */
export const stopOf = ({ stop }: ModelCalls): Stop => stop ?? { kind: "interrupted" };

/** Tells the stream what guardrails have said, and keeps their notes. */
export function hear(host: ToolHost, key: string, heard: Heard | undefined): void {
  if (!heard) return;
  host.guards.learn(key, heard);
  for (const trip of heard.trips) host.observer.note("guardrail.trip", trip);
}

/** What guardrails are shown of a call. */
export const guardedCall = (tool: Tool, input: Json): GuardedCall => ({
  tool: tool.name,
  risk: tool.risk,
  input,
  brings: Labels.broughtBy(tool),
});

/** A result, as guardrails leave it. */
export interface GuardedOutcome {
  readonly result: ToolResult;
  readonly after?: Heard | undefined;
  readonly halt?: { readonly guardrail: string; readonly reason: string } | undefined;
}

/** The result, unless a guardrail has ended the run over it. @throws GuardrailHalt */
export function endedBy({ halt }: GuardedOutcome, result: ToolResult): ToolResult {
  if (halt) throw new GuardrailHalt(halt);
  return result;
}

/** Lets the guardrails look at what came of a call. */
export async function lookAtResult(
  host: ToolHost,
  step: LookingStep,
  tool: Tool,
  call: { readonly input: Json; readonly result: ToolResult },
): Promise<GuardedOutcome> {
  const { result } = call;
  if (!host.guards.has("afterCall")) return { result };
  const place = lookPlace(host, step, "afterCall", tool.risk === "safe" ? "allow" : "block");
  const made = guardedCall(tool, call.input);
  const looking: Looking = (guardrail, scope, changed) =>
    guardrail.afterCall?.({ ...made, result: changed ? { ...result, content: changed } : result }, scope);
  const look = await host.guards.look(host, "afterCall", looking, place);
  if (!look) return unseen(tool, result);
  const { kind, guardrail, reason, content, warnings, heard } = look;
  if (kind === "halt") return { result, after: heard, halt: { guardrail, reason } };
  if (kind === "block") return { result: ToolResult.failure(`withheld: ${reason}`), after: heard };
  const shown = content ? { ...result, content } : result;
  return { result: warned(shown, warnings), after: heard };
}

/** Of a result that was not looked at to the end, because the run had to stop or to yield: as if a guardrail had failed. */
function unseen({ risk }: Tool, result: ToolResult): GuardedOutcome {
  const reason = "the guardrails were interrupted";
  const decision = risk === "safe" ? "allow" : "block";
  const after = { trips: [{ guardrail: "guardrails", reason, decision } as const], notes: [] };
  return { result: risk === "safe" ? result : ToolResult.failure(`withheld: ${reason}`), after };
}

/** A result with what the model should know besides. */
export function warned(result: ToolResult, warnings: readonly string[] = []): ToolResult {
  if (warnings.length === 0) return result;
  const notes = warnings.map((reason) => ContentBlock.text(`Note: ${reason}.`));
  return { ...result, content: [...result.content, ...notes] };
}
