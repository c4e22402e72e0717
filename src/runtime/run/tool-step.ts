import {
  AttemptId,
  CancellationError,
  PreemptedError,
  GuardrailHalt,
  SpanId,
  type Json,
  Labels,
  ToolRefusedError,
  TraceParent,
  type EffectTool,
  type RunContext,
  type StepIo,
  type ToolOptions,
  ToolResult,
} from "#kernel";
import type { ReplyOf } from "../tree/protocol.ts";
import { answered, askPerson } from "./ask-person.ts";
import { decide, type Deciding, type Decision } from "./decide-tool.ts";
import { throughFunctionLayers } from "./function-layers.ts";
import {
  endedBy,
  hear,
  lookAtResult,
  stopOf as stopBefore,
  warned,
  type GuardedOutcome,
} from "./guard-step.ts";
import type { Heard } from "./guards.ts";
import { ModelCalls, refused, type Charge } from "./model-calls.ts";
import { settleCharges } from "./model-step.ts";
import { passGate } from "./pass-gate.ts";
import { runTool } from "./run-tool.ts";
import { journaled, placeStep, stoppedBy, type StepPlace } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";
import { messageOf, resultOf, statusOf, unknown } from "./tool-outcome.ts";
import { within } from "./within.ts";

const defaultTimeoutS = 600;

type Call = (
  | Extract<Decision, { readonly kind: "refused" | "ask" | "halted" }>
  | (GuardedOutcome & {
      readonly kind: "done";
      readonly attempt: AttemptId;
      readonly ms: number;
      /** What the result is, where that is of note. */
      readonly brings?: Labels | undefined;
    })
  /** Somebody has to say what becomes of a call whose outcome nobody knows. */
  | { readonly kind: "in-doubt"; readonly lost: AttemptId }
  | { readonly kind: "interrupted" | "paused" | "later" | "unknown" }
  | { readonly kind: "cancelled"; readonly reason: string }
) & { readonly charges: readonly Charge[]; readonly reported: number; readonly heard?: Heard | undefined };

/** One tool call. Whatever goes wrong with it is a result that says so. */
export function callTool(
  host: ToolHost,
  ctx: RunContext,
  name: string,
  input: Json,
  { callId }: ToolOptions,
): Promise<ToolResult> {
  const tool = host.tools.find((candidate) => candidate.name === name);
  if (!tool) return Promise.resolve(ToolResult.failure(`there is no tool ${name}`));
  const isListed = host.whitelist === null || host.whitelist.includes(name);
  if (!isListed) {
    const reason = `tool ${name} is not among the tools this run may call`;
    host.observer.note("permission.denied", { tool: name, callId: callId ?? name, reason });
    return Promise.resolve(ToolResult.failure(reason));
  }
  const subject = `${name}/${JSON.stringify(input)}`;
  if ("run" in tool) return runTool(host, ctx, tool, { input, subject, callId });
  const rerun = tool.onUnknown === "rerun";
  return effectTool(host, placeStep(host, "tool", subject), { tool, input, callId, approved: null, rerun });
}

interface Wanted extends Deciding {
  readonly tool: EffectTool;
  /** The model's own name for the call. */
  readonly callId: string | undefined;
  /** Has somebody agreed to exactly this input, or put it there? */
  readonly approved: "approved" | "edited" | null;
  /** What the model should know besides the result. */
  readonly warnings?: readonly string[] | undefined;
  /** Run it although nobody knows what became of it the last time? Or after the loss of this attempt alone? */
  readonly rerun: boolean | AttemptId;
}

async function effectTool(host: ToolHost, place: StepPlace, call: Wanted): Promise<ToolResult> {
  let wanted = call;
  for (let round = 0; ; round++) {
    const now = wanted;
    const record = await journaled(host, place, (io) => attempt(host, place, io, now));
    host.driver.outbox.acknowledge(record.reported);
    settleCharges(host, record);
    hear(host, `${place.id}/beforeCall`, record.heard);
    switch (record.kind) {
      case "refused":
        return refusal(host, now, record);
      case "halted":
        throw new GuardrailHalt(record);
      case "done":
        host.labels.join(record.brings);
        hear(host, `${place.id}/afterCall`, record.after);
        return endedBy(record, told(host, place, now, record));
      case "cancelled":
        return host.driver.stopped(record.reason);
      case "unknown":
        return unknown(now.tool.name);
      case "ask":
      case "in-doubt": {
        const next = await afterAsking(host, place, now, { ...record, round });
        if ("content" in next) return next;
        wanted = next;
        break;
      }
      case "paused":
      case "later":
      case "interrupted":
    }
    await host.driver.refresh();
  }
}

/** What somebody wants: the call, with these arguments, or none and why. */
async function afterAsking(
  host: ToolHost,
  place: StepPlace,
  wanted: Wanted,
  asked: { readonly round: number } & (
    | Extract<Decision, { readonly kind: "ask" }>
    | { readonly kind: "in-doubt"; readonly lost: AttemptId }
  ),
): Promise<Wanted | ToolResult> {
  const { tool, callId } = wanted;
  const { round } = asked;
  if (asked.kind === "in-doubt") {
    const why = "the outcome of an earlier attempt is unknown: run it again?";
    const { decision } = await askPerson(host, place, { tool, input: wanted.input, why, callId, round });
    // A decision is about one call: lost as well, the next one is asked about again.
    return decision === "approved" ? { ...wanted, rerun: asked.lost } : unknown(tool.name);
  }
  const { value, warnings } = asked;
  const next = answered(await askPerson(host, place, { ...asked, tool, input: value, callId }), value);
  return "refusal" in next ? ToolResult.failure(next.refusal) : { ...wanted, ...next, warnings };
}

function refusal(
  { driver }: ToolHost,
  { tool, callId }: Wanted,
  record: { readonly refusal: string; readonly isDenied: boolean; readonly t: number },
): ToolResult {
  const { refusal: reason, isDenied, t } = record;
  const denied = { tool: tool.name, callId: callId ?? tool.name, reason };
  if (isDenied) driver.outbox.event("permission.denied", t, null, denied);
  return ToolResult.failure(reason);
}

/** Tells the tree that a call is over; of one that passed no gate, also that it began. */
function told(
  { driver }: ToolHost,
  { id: step }: StepPlace,
  { tool, callId: given }: Wanted,
  record: Extract<Call, { kind: "done" }> & { readonly t: number },
): ToolResult {
  const { outbox } = driver;
  const { result, attempt: made, ms: durationMs, t } = record;
  const named = { tool: tool.name, callId: given ?? made };
  if (tool.idempotent) outbox.event("tool.start", t - durationMs, made, { ...named, step });
  else outbox.settle({ attempt: made, usage: null });
  outbox.event("tool.end", t, made, { ...named, status: statusOf(result), durationMs });
  return result;
}

/** The closure of a tool step: decide, pass the gate, execute. */
async function attempt(host: ToolHost, place: StepPlace, io: StepIo, wanted: Wanted): Promise<Call> {
  const { tool } = wanted;
  const calls = new ModelCalls(host, place, io, { of: "tool" });
  const { charges } = calls;
  const step = { place, io, calls };
  const decided = await decide(host, step, tool, wanted);
  if (decided?.kind !== "allowed")
    return { ...(decided ?? stopBefore(calls)), charges, reported: calls.reported };
  const { value: input, heard, warnings = wanted.warnings } = decided;
  const { gate, reported } = tool.idempotent ? open : await passGate(host, io, beginning(place, io, wanted));
  const booked = (): Pick<Call, "charges" | "reported" | "heard"> => ({
    charges,
    reported: Math.max(reported, calls.reported),
    ...(heard && { heard }),
  });
  // Looked at again when it may begin: what was said counts then.
  if (gate.kind === "refused") return { ...refused(gate), ...booked(), heard: undefined };
  if (gate.kind === "earlier-attempt-open") {
    return tool.onUnknown === "ask"
      ? { kind: "in-doubt", lost: gate.attempt, ...booked() }
      : { kind: "unknown", ...booked() };
  }
  const inner = { io, tool, input, calls };
  const brings = Labels.broughtBy(tool);
  try {
    const { ms, ...outcome } = await watched(host, place, io, wanted, async () => {
      const result = await throughFunctionLayers(host, inner, (timeoutMs) =>
        execute(host, place, io, { ...wanted, input, timeoutMs }),
      );
      const isGuarded = host.guards.has("afterCall");
      const guarded = isGuarded ? await lookAtResult(host, step, tool, { input, result }) : { result };
      return warnings ? { ...guarded, result: warned(guarded.result, warnings) } : guarded;
    });
    const made = { attempt: AttemptId.of(io.attempt), ms, ...(!Labels.isNone(brings) && { brings }) };
    return { kind: "done", ...outcome, ...made, ...booked() };
  } catch (error) {
    return { ...stopOf(error, tool), ...booked() };
  }
}

/** Between a tool.start and a tool.end, for the hooks. What is thrown is a result, unless the run was told to stop. */
async function watched(
  { primitives, observer }: ToolHost,
  { id: step }: StepPlace,
  io: StepIo,
  { tool, callId }: Wanted,
  run: () => Promise<GuardedOutcome>,
): Promise<GuardedOutcome & { readonly ms: number }> {
  const made = AttemptId.of(io.attempt);
  const named = { tool: tool.name, callId: callId ?? made };
  const began = primitives.now();
  observer.seen("tool.start", { ...named, step }, made);
  const outcome = await run().catch(
    (error: unknown) => stoppedBy(io.signal) ?? { result: ToolResult.failure(messageOf(error)) },
  );
  const ms = primitives.now() - began;
  const status = outcome instanceof Error ? "unknown" : statusOf(outcome.result);
  observer.seen("tool.end", { ...named, status, durationMs: ms }, made);
  if (outcome instanceof Error) throw outcome;
  return { ...outcome, ms };
}

/** How a call ends that was told to stop. */
function stopOf(
  stopped: unknown,
  { idempotent }: EffectTool,
): { readonly kind: "interrupted" | "unknown" } | { readonly kind: "cancelled"; readonly reason: string } {
  if (stopped instanceof PreemptedError) return { kind: idempotent ? "interrupted" : "unknown" };
  return { kind: "cancelled", reason: stopped instanceof CancellationError ? stopped.reason : "cancelled" };
}

/** An idempotent tool passes no gate. */
const open: Pick<ReplyOf<"begin">, "reported"> & { readonly gate: { readonly kind: "granted" } } = {
  gate: { kind: "granted" },
  reported: 0,
};

/** What a tool call says at the gate: it reserves nothing, it is there to be noticed. */
function beginning(
  { id: step }: StepPlace,
  io: StepIo,
  { tool, callId, rerun }: Wanted,
): Parameters<typeof passGate>[2] {
  return {
    step,
    attempt: AttemptId.of(io.attempt),
    ask: null,
    rerun,
    previous: [],
    subject: tool.name,
    callId,
  };
}

function execute(
  { clock, traceId }: ToolHost,
  place: StepPlace,
  io: StepIo,
  { tool, input, timeoutMs }: Wanted & { readonly timeoutMs: number },
): Promise<ToolResult> {
  const timeoutS = Math.min(tool.timeoutS ?? defaultTimeoutS, timeoutMs / 1000);
  const late = (): Error =>
    new ToolRefusedError({ tool: tool.name, reason: `no result after ${timeoutS} s` });
  return within(clock, { ms: timeoutS * 1000, signal: io.signal, late }, (limited) =>
    tool.execute(input, {
      get signal() {
        return limited.signal;
      },
      idempotencyKey: place.id,
      get traceparent() {
        return TraceParent.format({ traceId, spanId: SpanId.of(place.id), sampled: true });
      },
    }),
  ).then((value) => resultOf(tool.name, value));
}
