import {
  AttemptId,
  BudgetExhaustedError,
  CancellationError,
  GuardrailHalt,
  Labels,
  MiddlewareTermination,
  ProgramError,
  ToolResult,
  type EffectTool,
  type Json,
  ReeveError,
  type RunContext,
  type RunTool,
} from "#kernel";
import { isTeamTool } from "#agents";
import { copyJson, safeMessage } from "#base";
import {
  abandonAttempt,
  authorizeTool,
  type AllowedCall,
  type CallInDoubt,
  type RefusedCall,
  type ToolCall,
} from "./authorize-tool.ts";
import { executeEffect, type CheckLog, type DoneCall, type LostCall } from "./execute-effect.ts";
import { recordedDiagnostic } from "./failures.ts";
import { GatedStep, type StepExecution, type StepStop } from "./gated-step.ts";
import { addWarnings, checkResult, throwHalt, type GuardedOutcome } from "./guardrail-step.ts";
import { toStop } from "./step-stop.ts";
import type { RunServices } from "./run-services.ts";
import { runJournaled, placeStep, type StepRecord } from "./step.ts";
import { throughFunctionLayers } from "./tool-middleware.ts";
import { toFailure, toResult, toStatus } from "./tool-outcome.ts";

/** A tool call, as requested by the agent's code. */
interface ToolRequest {
  readonly name: string;
  readonly input: Json;
  /** The model's id for the call. */
  readonly callId?: string | undefined;
}

/** Makes one tool call. Every failure of the tool is an error result. */
export function callTool(
  services: RunServices,
  ctx: RunContext,
  { name, input: given, callId }: ToolRequest,
): Promise<ToolResult> {
  const { engine, policy } = services;
  // Agent code may pass an object that changes, or that reads differently each time.
  const input = copyJson(given);
  const tool = policy.tools.find((candidate) => candidate.name === name);
  if (!tool) return Promise.resolve(ToolResult.failure(`there is no tool ${name}`));
  if (policy.whitelist !== null && !policy.whitelist.includes(name)) {
    const reason = `tool ${name} is not among the tools this run may call`;
    const { outbox, time } = engine.driver;
    outbox.event("permission.denied", time, null, { tool: name, callId: callId ?? name, reason });
    return Promise.resolve(ToolResult.failure(reason));
  }
  const kind = "run" in tool ? "decide" : "tool";
  const subject = `${name}/${JSON.stringify(input)}`;
  const step = new GatedStep(services, { kind, subject, of: "tool", hook: "beforeCall" });
  return "run" in tool
    ? callRunTool(services, ctx, { step, tool, input, callId })
    : callEffectTool(services, { step, tool, input, callId });
}

/** Calls an effect tool: one step, in which it is authorized and executed. */
async function callEffectTool(services: RunServices, call: ToolCall<EffectTool>): Promise<ToolResult> {
  const { tool, callId } = call;
  const record = await authorizeTool<DoneCall | LostCall>(
    services,
    call,
    async (execution, { value: input, heard, warnings }, pending) => {
      const log = heard ? { heard } : {};
      const { resumption } = pending;
      const mayRerun = resumption?.rerun ?? false;
      const entry = { tool, callId, rerun: mayRerun || pending.rerun, log };
      const blocker = tool.idempotent ? null : await passGate(execution, entry);
      if (blocker) return blocker;
      // The message with the call is stored before its effect. If that fails, the next step writes it.
      await services.state.session.flush().catch(() => undefined);
      const resumed = resumption?.resumed ?? null;
      const checked = { tool, input, callId, log, resumed, mayRerun, warnings: warnings ?? pending.warnings };
      return executeEffect(services, execution, checked);
    },
  );
  if (record.kind === "refused") return ToolResult.failure(record.refusal);
  if (Labels.leavesBy(tool)) services.state.session.noteAct();
  if (record.kind === "unknown") return ToolResult.failure(abandonAttempt(services, tool, record.lost));
  services.state.labels.join(record.brings, "tool", tool.name, call.step.place.id);
  reportDone(services, call, record);
  throwHalt(record);
  return record.result;
}

/** Reports the end of a call; for one that passed no gate, also its beginning. */
function reportDone(
  { engine: { driver } }: RunServices,
  { step, tool, callId }: ToolCall,
  { result, attempt, ms: durationMs, gated, diagnostic, t, isUnknown }: DoneCall & StepRecord,
): void {
  const { outbox } = driver;
  const named = { tool: tool.name, callId: callId ?? attempt };
  if (!gated) outbox.event("tool.start", t - durationMs, attempt, { ...named, step: step.place.id });
  else outbox.settle({ attempt, usage: null });
  const status = isUnknown ? "unknown" : toStatus(result);
  outbox.event("tool.end", t, attempt, { ...named, status, durationMs, diagnostic });
}

/** A request of an effect tool to the gate. It reserves nothing. The tree records the attempt, which may get lost. */
interface EffectEntry {
  readonly tool: EffectTool;
  /** The lost attempt after which the call may be repeated. True: after any. */
  readonly rerun: AttemptId | boolean | undefined;
  readonly callId: string | undefined;
  readonly log: CheckLog;
}

/** Asks the gate whether a call may begin. Returns the blocker. Null if there is none. */
async function passGate(
  { place, io, calls }: StepExecution,
  { tool, callId, log, rerun: after }: EffectEntry,
): Promise<LostCall | CallInDoubt | RefusedCall | StepStop | null> {
  const { name: subject, onUnknown, risk } = tool;
  const attempt = AttemptId.of(io.attempt);
  const rerun = after || onUnknown === "rerun";
  const gate = await calls.begin({
    step: place.id,
    attempt,
    ask: null,
    rerun,
    previous: [],
    subject,
    callId,
  });
  // The call is checked again when it may begin. The log of that check counts.
  if (gate.kind === "refused") return toStop(gate);
  if (gate.kind === "denied") {
    const { message } = new BudgetExhaustedError(gate);
    return { kind: "refused", refusal: `not called: ${message}`, isDenied: false, ...log };
  }
  if (gate.kind !== "earlier-attempt-open") return null;
  const { attempt: lost } = gate;
  return onUnknown === "ask" ? { kind: "in-doubt", lost, risk, ...log } : { kind: "unknown", lost, ...log };
}

/**
 * Calls a run tool: agent code whose own calls are steps. It is authorized in a step before it, and checked in one
 * after it.
 */
async function callRunTool(
  services: RunServices,
  ctx: RunContext,
  { step, tool, input, callId = step.place.id }: ToolCall<RunTool>,
): Promise<ToolResult> {
  const { driver } = services.engine;
  const { outbox } = driver;
  const brings = Labels.broughtBy(tool);
  const allowed = await authorizeTool<AllowedCall & { readonly brings?: Labels }>(
    services,
    { step, tool, input, callId },
    async (_, decision) => ({ ...decision, ...(!Labels.isNone(brings) && { brings }) }),
  );
  if (allowed.kind === "refused") return ToolResult.failure(allowed.refusal);
  const began = driver.time;
  outbox.event("tool.start", began, null, { tool: tool.name, callId, step: step.place.id });
  const made = await executeRunTool(services, ctx, { tool, input: allowed.value });
  services.state.labels.join(allowed.brings, "tool", tool.name, step.place.id);
  const outcome = await closeRunTool(services, { tool, input: allowed.value, made });
  const result = addWarnings(outcome.result, allowed.warnings);
  const { time } = driver;
  const status = toStatus(result);
  const { diagnostic } = outcome;
  const durationMs = time - began;
  const noted = { step: step.place.id, tool: tool.name, input: allowed.value, result, brings };
  services.state.steps.noteRunTool(noted, { at: began, ms: durationMs });
  outbox.event("tool.end", time, null, { tool: tool.name, callId, status, durationMs, diagnostic });
  throwHalt(outcome);
  return result;
}

async function executeRunTool(
  services: RunServices,
  ctx: RunContext,
  { tool, input }: { readonly tool: RunTool; readonly input: Json },
): Promise<GuardedOutcome> {
  try {
    return { result: toResult(tool.name, await tool.run(ctx, input)) };
  } catch (error) {
    if (endsRun(error)) throw error;
    const result = ToolResult.failure(safeMessage(error));
    if (ReeveError.is(error) || isTeamTool(tool)) return { result, diagnostic: recordedDiagnostic(error) };
    // Its stack depends on the build: replayed code may report only what the journal holds.
    const place = placeStep(services.engine, "diagnose", tool.name);
    return runJournaled(services, place, async () => toFailure(services, tool, error));
  }
}

/** Returns whether an error is the run's end, not the tool's failure. */
const endsRun = (error: unknown): boolean =>
  error instanceof CancellationError ||
  error instanceof MiddlewareTermination ||
  error instanceof GuardrailHalt ||
  error instanceof ProgramError ||
  (error instanceof BudgetExhaustedError && !isSpawnRefused(error));

/** Whether no child can be spawned. The run itself then lands at its next model call. */
const isSpawnRefused = ({ dimension, reason }: BudgetExhaustedError): boolean =>
  dimension === "agents" || reason === "exceeded";

/** Runs the step after a run tool, in which its middleware and guardrails see the result. */
async function closeRunTool(
  services: RunServices,
  call: { readonly tool: RunTool; readonly input: Json; readonly made: GuardedOutcome },
): Promise<GuardedOutcome> {
  const { tool, made } = call;
  const { result } = made;
  const { functionLayers, guardrailHooks } = services.policy.launch;
  if (!functionLayers && !guardrailHooks.includes("afterCall")) return made;
  const subject = `${tool.name}/${JSON.stringify(result)}`;
  const step = new GatedStep(services, { kind: "close", subject, of: "tool" });
  return step.run(async (execution) => {
    const patched = await throughFunctionLayers(services, execution, {
      ...call,
      core: async () => result,
    }).then(
      (value): GuardedOutcome => ({ ...made, result: value }),
      (error: unknown) => toFailure(services, tool, error),
    );
    const outcome = await checkResult(services, execution, { ...call, result: patched.result });
    return { kind: "closed", diagnostic: patched.diagnostic, ...outcome };
  });
}
