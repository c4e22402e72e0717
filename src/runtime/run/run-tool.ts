import {
  BudgetExhaustedError,
  CancellationError,
  GuardrailHalt,
  Labels,
  MiddlewareTermination,
  type Json,
  type RunContext,
  type RunTool,
  type StepIo,
  ToolResult,
} from "#kernel";
import { answered, askPerson } from "./ask-person.ts";
import { decide, type Deciding, type Decision } from "./decide-tool.ts";
import { throughFunctionLayers } from "./function-layers.ts";
import { endedBy, hear, lookAtResult, stopOf, warned, type GuardedOutcome } from "./guard-step.ts";
import { ModelCalls, type Charge, type Stop } from "./model-calls.ts";
import { settleCharges } from "./model-step.ts";
import { journaled, placeStep, type StepPlace } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";
import { messageOf, resultOf, statusOf } from "./tool-outcome.ts";

/** How a run tool was called. */
interface RunToolCall {
  readonly input: Json;
  /** What its steps depend on. */
  readonly subject: string;
  readonly callId: string | undefined;
}

/** Agent code: its own calls are steps; whether it may run is decided in one, and its layers see its result in one. */
export async function runTool(
  host: ToolHost,
  ctx: RunContext,
  tool: RunTool,
  { input, subject, callId: given }: RunToolCall,
): Promise<ToolResult> {
  const place = placeStep(host, "decide", subject);
  const { driver, observer } = host;
  const callId = given ?? place.id;
  const allowed = await permitted(host, place, tool, { input, callId });
  if ("refusal" in allowed) {
    const { refusal, isDenied } = allowed;
    if (isDenied) observer.note("permission.denied", { tool: tool.name, callId, reason: refusal });
    return ToolResult.failure(refusal);
  }
  const began = driver.time;
  observer.note("tool.start", { tool: tool.name, callId, step: place.id });
  const made = await madeBy(ctx, tool, allowed.value);
  host.labels.join(allowed.brings);
  const outcome = await closed(host, tool, allowed.value, made);
  const result = warned(outcome.result, allowed.warnings);
  const durationMs = driver.time - began;
  observer.note("tool.end", { tool: tool.name, callId, status: statusOf(result), durationMs });
  return endedBy(outcome, result);
}

/** What it may be called with. Waits for whoever has to approve it. */
async function permitted(
  host: ToolHost,
  place: StepPlace,
  tool: RunTool,
  { input, callId }: { readonly input: Json; readonly callId: string },
): Promise<Permitted | { readonly refusal: string; readonly isDenied: boolean }> {
  let call: Deciding & Pick<Permitted, "warnings"> = { input, approved: null };
  for (let round = 0; ; round++) {
    const now = call;
    const decided = await journaled(host, place, (io) => deciding(host, place, io, tool, now));
    host.driver.outbox.acknowledge(decided.reported);
    settleCharges(host, decided);
    hear(host, `${place.id}/beforeCall`, decided.heard);
    switch (decided.kind) {
      case "allowed":
        return { warnings: now.warnings, ...decided };
      case "refused":
        return decided;
      case "halted":
        throw new GuardrailHalt(decided);
      case "cancelled":
        return host.driver.stopped(decided.reason);
      case "ask": {
        const { value, warnings } = decided;
        const next = answered(
          await askPerson(host, place, { ...decided, tool, input: value, callId, round }),
          value,
        );
        if ("refusal" in next) return { ...next, isDenied: false };
        call = { ...next, warnings };
        break;
      }
      case "paused":
      case "later":
      case "interrupted":
        await host.driver.refresh();
    }
  }
}

/** What it is called with, what its result is, and what the model should know besides. */
interface Permitted {
  readonly value: Json;
  readonly brings?: Labels | undefined;
  readonly warnings?: readonly string[] | undefined;
}

type DecideRecord = (Decision | (Stop & { readonly heard?: undefined })) & {
  readonly brings?: Labels | undefined;
  readonly charges: readonly Charge[];
  readonly reported: number;
};

async function deciding(
  host: ToolHost,
  place: StepPlace,
  io: StepIo,
  tool: RunTool,
  call: Deciding,
): Promise<DecideRecord> {
  const calls = new ModelCalls(host, place, io, { of: "tool" });
  const decided = await decide(host, { place, io, calls }, tool, call);
  const brings = Labels.broughtBy(tool);
  const { charges, reported } = calls;
  return { ...(decided ?? stopOf(calls)), ...(!Labels.isNone(brings) && { brings }), charges, reported };
}

async function madeBy(ctx: RunContext, tool: RunTool, input: Json): Promise<ToolResult> {
  try {
    return resultOf(tool.name, await tool.run(ctx, input));
  } catch (error) {
    if (endsRun(error)) throw error;
    return ToolResult.failure(messageOf(error));
  }
}

/** Is this the run's end rather than the tool's failure? */
const endsRun = (error: unknown): boolean =>
  error instanceof CancellationError ||
  error instanceof MiddlewareTermination ||
  error instanceof GuardrailHalt ||
  (error instanceof BudgetExhaustedError && error.dimension !== "agents");

/** The closing step: what the layers make of the result. */
async function closed(
  host: ToolHost,
  tool: RunTool,
  input: Json,
  result: ToolResult,
): Promise<GuardedOutcome> {
  if ((host.policy.function ?? []).length === 0 && !host.guards.has("afterCall")) return { result };
  const place = placeStep(host, "close", `${tool.name}/${JSON.stringify(result)}`);
  const record = await journaled(host, place, (io) => close(host, place, io, { tool, input, result }));
  host.driver.outbox.acknowledge(record.reported);
  settleCharges(host, record);
  hear(host, `${place.id}/afterCall`, record.after);
  return record;
}

interface Closing extends GuardedOutcome {
  readonly kind: "closed";
  readonly charges: readonly Charge[];
  readonly reported: number;
}

async function close(
  host: ToolHost,
  place: StepPlace,
  io: StepIo,
  { tool, input, result }: { readonly tool: RunTool; readonly input: Json; readonly result: ToolResult },
): Promise<Closing> {
  const calls = new ModelCalls(host, place, io, { of: "tool" });
  const patched = await throughFunctionLayers(host, { io, tool, input, calls }, async () => result).catch(
    (error: unknown) => ToolResult.failure(messageOf(error)),
  );
  const outcome = await lookAtResult(host, { place, io, calls }, tool, { input, result: patched });
  return { kind: "closed", ...outcome, charges: calls.charges, reported: calls.reported };
}
