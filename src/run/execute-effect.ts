// One execution of an effect tool, inside its step, once the gate has let it pass.
//
// Job: call `execute` through the function middleware and the guardrails, measure it, and record it. Neighbours:
// tool-step authorizes the call, passes the gate and reports the end; tool-outcome and unfinished-call read what the
// tool returned.
//
// Invariants:
// 1. Whatever the tool does is a result, a suspended call or a stop. Its errors never reach the run.
// 2. A call that was sent and not answered keeps that outcome: no layer sends it again, and none turns it into a
//    failure.
import {
  AttemptId,
  CancellationError,
  Labels,
  PreemptedError,
  ToolRefusedError,
  ToolResult,
  type EffectCall,
  type EffectTool,
  type Json,
  type ReeveError,
  type ResumedCall,
} from "#kernel";
import { withTimeout } from "#base";
import type { CallInDoubt } from "./authorize-tool.ts";
import { createEmbed } from "./embed-texts.ts";
import { toStepScope, type StepExecution, type StepStop } from "./gated-step.ts";
import { addWarnings, checkResult, type GuardedOutcome } from "./guardrail-step.ts";
import type { GuardrailLog } from "./guardrails.ts";
import type { RunServices } from "./run-services.ts";
import { getStopError } from "./step.ts";
import { throughFunctionLayers } from "./tool-middleware.ts";
import { toFailure, toResult, toUnknownText } from "./tool-outcome.ts";
import { createEffectCall, ToolUpdates } from "./tool-updates.ts";
import { readLeft, readUnfinished, tellCancelled, type UnfinishedCall } from "./unfinished-call.ts";

const defaultTimeoutS = 600;

/** The log of the guardrails' check before a call, if any. */
export interface CheckLog {
  readonly heard?: GuardrailLog;
}

/** A call of an effect tool that was made. */
export interface DoneCall extends GuardedOutcome, CheckLog {
  readonly kind: "done";
  readonly attempt: AttemptId;
  readonly ms: number;
  /** Whether it passed the gate, which has then recorded its beginning. */
  readonly gated: boolean;
  /** Set if the tool knows that it does not know what came of the call. The result tells the model so. */
  readonly isUnknown?: true;
  /** The labels of the result, if any. */
  readonly brings?: Labels | undefined;
}

/** A call whose outcome stays unknown, because its execution was lost. */
export interface LostCall extends CheckLog {
  readonly kind: "unknown";
  readonly lost: AttemptId;
}

/** A call of an effect tool that may be made. */
interface CheckedCall {
  readonly tool: EffectTool;
  readonly input: Json;
  readonly callId: string | undefined;
  readonly log: CheckLog;
  readonly resumed: ResumedCall | null;
  /** Whether this execution may be repeated, although the tool is not idempotent. */
  readonly mayRerun: boolean;
  readonly warnings: readonly string[] | undefined;
}

/** The end of an execution, where its result alone does not tell it. */
interface ExecutionEnd {
  unfinished: ReturnType<typeof readUnfinished> | null;
  /** The result of a call that was sent and not answered. */
  unknown: ToolResult | null;
}

/** Executes a call through the middleware and the guardrails, and measures it. */
export async function executeEffect(
  services: RunServices,
  execution: StepExecution,
  call: CheckedCall,
): Promise<DoneCall | LostCall | CallInDoubt | (UnfinishedCall & CheckLog) | StepStop> {
  const { tool, input, callId, log, resumed, mayRerun, warnings } = call;
  const { engine, identity } = services;
  const { place, io, calls } = execution;
  const attempt = AttemptId.of(io.attempt);
  const began = engine.primitives.now();
  const feed = engine.openUpdates(place.id, attempt);
  const updates = new ToolUpdates({ feed, clock: engine.clock, tool: tool.name, callId: callId ?? attempt });
  const memory = services.state.openMemory(identity.scope.sessionId, createEmbed(services, calls));
  const end: ExecutionEnd = { unfinished: null, unknown: null };
  const core = createCore(services, execution, { call, end, updates, memory });
  let outcome: GuardedOutcome;
  try {
    const result = await throughFunctionLayers(services, execution, { tool, input, core });
    const left = readLeft(end.unfinished);
    if (left)
      return { kind: "unfinished", ...left, attempt, gated: !tool.idempotent, risk: tool.risk, ...log };
    if (end.unknown && tool.onUnknown === "ask" && !tool.idempotent)
      return { kind: "in-doubt", lost: attempt, risk: tool.risk, ...log };
    const kept = end.unknown && !result.isError ? end.unknown : result;
    const checked = await checkResult(services, execution, { tool, input, result: kept });
    outcome = { ...checked, result: addWarnings(checked.result, warnings) };
  } catch (error) {
    const stopped = getStopError(io.signal);
    if (stopped instanceof CancellationError && resumed) tellCancelled(tool, resumed.state);
    if (stopped) return { ...toEffectStop(stopped, mayRerun || tool.idempotent, attempt), ...log };
    // The gate has refused an embedder call, because the run must yield or stop.
    if (calls.stop && tool.idempotent) return { ...calls.stop, ...log };
    const failure = toFailure(services, tool, error);
    // Without the reason: the layer that failed may be the one that redacts it.
    outcome = end.unknown ? { ...failure, result: ToolResult.failure(toUnknownText(tool, null)) } : failure;
  } finally {
    updates.end();
  }
  const ms = engine.primitives.now() - began;
  const brings = Labels.join(Labels.broughtBy(tool), memory?.seen);
  const decisions = calls.notes.splice(0);
  const made = { step: place.id, tool: tool.name, input, result: outcome.result, brings, decisions };
  await services.state.steps.keepToolCall({ ...made, attempt: { attempt, at: began, ms } });
  return {
    kind: "done",
    ...outcome,
    attempt,
    ms,
    gated: !tool.idempotent,
    ...(end.unknown && { isUnknown: true }),
    ...(!Labels.isNone(brings) && { brings }),
    ...log,
  };
}

/** Creates the innermost layer of a call: the call itself, with the timeout that the layers have set. */
function createCore(
  services: RunServices,
  execution: StepExecution,
  {
    call: { tool, input, resumed },
    end,
    updates,
    memory,
  }: {
    readonly call: CheckedCall;
    readonly end: ExecutionEnd;
    readonly updates: ToolUpdates;
    readonly memory: ReturnType<RunServices["state"]["openMemory"]>;
  },
): (timeoutMs: number) => Promise<ToolResult> {
  const { engine, identity } = services;
  const { place, io } = execution;
  const scope = toStepScope(services, execution, services.policy.model);
  const llm: EffectCall["llm"] = (messages, options) => scope.llm(messages, options);
  return async (timeoutMs) => {
    if (end.unknown && !tool.idempotent) return end.unknown;
    end.unknown = null;
    const timeoutS = Math.min(tool.timeoutS ?? defaultTimeoutS, timeoutMs / 1000);
    const onTimeout = (): never => {
      throw new ToolRefusedError({ tool: tool.name, reason: `no result after ${timeoutS} s` });
    };
    const limit = { clock: engine.clock, ms: timeoutS * 1000, signal: io.signal, onTimeout };
    const value = await withTimeout<unknown>(limit, async (limited) =>
      tool.execute(input, createEffectCall({ identity, place, limited, updates, memory, resumed, llm })),
    );
    if (ToolResult.isUnknownOutcome(value))
      return (end.unknown = ToolResult.failure(toUnknownText(tool, value.reason)));
    const unfinished = ToolResult.isUnfinished(value) ? readUnfinished(tool.name, value) : null;
    end.unfinished = unfinished;
    if (unfinished)
      return "content" in unfinished ? unfinished : ToolResult.failure("the call is not finished");
    return toResult(tool.name, value);
  };
}

/** Returns the end of a call that had to stop. */
function toEffectStop(
  stopped: ReeveError,
  mayRepeat: boolean | undefined,
  lost: AttemptId,
): Extract<StepStop, { readonly kind: "interrupted" | "cancelled" }> | LostCall {
  if (stopped instanceof PreemptedError)
    return mayRepeat ? { kind: "interrupted" } : { kind: "unknown", lost };
  return { kind: "cancelled", reason: stopped instanceof CancellationError ? stopped.reason : "cancelled" };
}
