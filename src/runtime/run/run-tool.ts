import {
  BudgetExhaustedError,
  CancellationError,
  MiddlewareTermination,
  type Json,
  type RunContext,
  type RunTool,
  type StepIo,
  ToolResult,
} from "#kernel";
import { answered, askPerson } from "./ask-person.ts";
import { decide } from "./decide-tool.ts";
import { throughFunctionLayers } from "./function-layers.ts";
import { ModelCalls, type Charge } from "./model-calls.ts";
import { settleCharges } from "./model-step.ts";
import { journaled, placeStep, type StepPlace } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";
import { messageOf, statusOf } from "./tool-outcome.ts";

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
  const allowed = await permitted(host, place, tool, input);
  if ("refusal" in allowed) {
    const { refusal, isDenied } = allowed;
    if (isDenied) observer.note("permission.denied", { tool: tool.name, callId, reason: refusal });
    return ToolResult.failure(refusal);
  }
  const began = driver.time;
  observer.note("tool.start", { tool: tool.name, callId, step: place.id });
  const result = await closed(host, tool, allowed.value, await made(ctx, tool, allowed.value));
  const durationMs = driver.time - began;
  observer.note("tool.end", { tool: tool.name, callId, status: statusOf(result), durationMs });
  return result;
}

/** What it may be called with. Waits for whoever has to approve it. */
async function permitted(
  host: ToolHost,
  place: StepPlace,
  tool: RunTool,
  input: Json,
): Promise<{ readonly value: Json } | { readonly refusal: string; readonly isDenied: boolean }> {
  let call: { readonly input: Json; readonly approved: "approved" | "edited" | null } = {
    input,
    approved: null,
  };
  for (let round = 0; ; round++) {
    const now = call;
    const decided = await journaled(host, place, () => decide(host, tool, now.input, now.approved));
    if (decided.kind !== "ask") return decided.kind === "allowed" ? { value: decided.value } : decided;
    const { value, why } = decided;
    const next = answered(await askPerson(host, place, { tool, input: value, why, round }), value);
    if ("refusal" in next) return { ...next, isDenied: false };
    call = next;
  }
}

async function made(ctx: RunContext, tool: RunTool, input: Json): Promise<ToolResult> {
  try {
    return ToolResult.of(await tool.run(ctx, input));
  } catch (error) {
    if (endsRun(error)) throw error;
    return ToolResult.failure(messageOf(error));
  }
}

/** Is this the run's end rather than the tool's failure? */
const endsRun = (error: unknown): boolean =>
  error instanceof CancellationError ||
  error instanceof MiddlewareTermination ||
  (error instanceof BudgetExhaustedError && error.dimension !== "agents");

/** The closing step: what the layers make of the result. */
async function closed(host: ToolHost, tool: RunTool, input: Json, result: ToolResult): Promise<ToolResult> {
  if ((host.policy.function ?? []).length === 0) return result;
  const place = placeStep(host, "close", `${tool.name}/${JSON.stringify(result)}`);
  const record = await journaled(host, place, (io) => close(host, place, io, { tool, input, result }));
  host.driver.outbox.acknowledge(record.reported);
  settleCharges(host, record);
  return record.result;
}

interface Closing {
  readonly kind: "closed";
  readonly result: ToolResult;
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
  return { kind: "closed", result: patched, charges: calls.charges, reported: calls.reported };
}
