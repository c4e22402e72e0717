import {
  ApprovalId,
  AttemptId,
  BudgetExhaustedError,
  CancellationError,
  ContentBlock,
  Json,
  MiddlewareTermination,
  ToolRefusedError,
  type EffectTool,
  type FunctionContext,
  type Permissions,
  type RunContext,
  type RunTool,
  type StepIo,
  type Tool,
  type ToolOptions,
  type ToolResult,
} from "#kernel";
import { throughLayers, verdictOf } from "#agents";
import type { ReplyOf } from "../tree/protocol.ts";
import { ModelCalls, refused, type Charge } from "./model-calls.ts";
import type { ModelHost } from "./model-host.ts";
import { settleCharges } from "./model-step.ts";
import { journaled, placeStep, stoppedBy, type StepPlace } from "./step.ts";
import { within } from "./within.ts";

const defaultTimeoutS = 600;

/** What a tool step needs besides. */
export interface ToolHost extends ModelHost {
  readonly tools: readonly Tool[];
  /** The names it may call; null: all. */
  readonly whitelist: readonly string[] | null;
  /** Who decides where the agent's own policy does not. */
  readonly permissions: Permissions;
}

type Call = (
  | { readonly kind: "done"; readonly result: ToolResult; readonly attempt: AttemptId; readonly ms: number }
  | { readonly kind: "interrupted" | "paused" | "unknown" | "ask" }
  | { readonly kind: "cancelled"; readonly reason: string }
) & { readonly charges: readonly Charge[]; readonly reported: number };

/** One tool call. Whatever goes wrong with it is a result that says so. */
export async function callTool(
  host: ToolHost,
  ctx: RunContext,
  name: string,
  input: Json,
  options: ToolOptions,
): Promise<ToolResult> {
  const tool = host.tools.find((candidate) => candidate.name === name);
  if (!tool) return failure(`there is no tool ${name}`);
  const isListed = host.whitelist === null || host.whitelist.includes(name);
  if (!isListed) return failure(`tool ${name} is not among the tools this run may call`);
  const subject = `${name}/${JSON.stringify(input)}`;
  if ("run" in tool) return runTool(host, ctx, tool, input, subject);
  return effectTool(host, tool, input, { subject, callId: options.callId });
}

/** Agent code: its own calls are steps; whether it may run is decided in one. */
async function runTool(
  host: ToolHost,
  ctx: RunContext,
  tool: RunTool,
  input: Json,
  subject: string,
): Promise<ToolResult> {
  const decided = await journaled(host, placeStep(host, "decide", subject), () => decide(host, tool, input));
  if ("refusal" in decided) return failure(decided.refusal);
  try {
    return success(await tool.run(ctx, decided.value));
  } catch (error) {
    if (endsRun(error)) throw error;
    return failure(messageOf(error));
  }
}

/** Is this the run's end rather than the tool's failure? */
const endsRun = (error: unknown): boolean =>
  error instanceof CancellationError ||
  (error instanceof BudgetExhaustedError && error.dimension !== "agents");

/** Decoded, valid, and allowed: the value that was checked is the value that runs. */
async function decide(
  host: ToolHost,
  tool: Tool,
  input: Json,
): Promise<{ readonly value: Json } | { readonly refusal: string }> {
  const checked = await tool.input["~standard"].validate(input);
  if (checked.issues)
    return { refusal: `bad input: ${checked.issues.map(({ message }) => message).join("; ")}` };
  const value = Json.of(checked.value);
  const { name, risk } = tool;
  const { agentId, scope } = host;
  const request = { tool: name, risk, input: value, agentId, runId: scope.runId, tenantId: scope.tenantId };
  const verdict = await verdictOf(host.policy.permissions ?? host.permissions, request);
  if (verdict === "allow") return { value };
  const why =
    verdict === "ask" ? `its risk is ${risk} and nobody is here to approve it` : "the policy denies it";
  return {
    refusal: `${new ToolRefusedError({ tool: name, reason: why }).message}; permissions: "allow-all" would allow it`,
  };
}

async function effectTool(
  host: ToolHost,
  tool: EffectTool,
  input: Json,
  { subject, callId }: { readonly subject: string; readonly callId: string | undefined },
): Promise<ToolResult> {
  const place = placeStep(host, "tool", subject);
  const { outbox, waits } = host.driver;
  let rerun = tool.onUnknown === "rerun";
  for (;;) {
    const isRerun = rerun;
    const record = await journaled(host, place, (io) => attempt(host, place, io, tool, input, isRerun));
    outbox.acknowledge(record.reported);
    settleCharges(host, place, record);
    if (record.kind === "done") {
      const { result, attempt: made, ms: durationMs } = record;
      outbox.settle({ step: place.id, attempt: made, usage: null });
      const payload = { tool: tool.name, callId: callId ?? made, status: statusOf(result), durationMs };
      outbox.event("tool.end", record.t, made, payload);
      return result;
    }
    if (record.kind === "cancelled") return host.driver.stopped(record.reason);
    if (record.kind === "unknown") return unknown(tool);
    if (record.kind === "ask") {
      const approvalId = ApprovalId.of(place.id);
      outbox.event("approval.requested", record.t, null, {
        approvalId,
        tool: tool.name,
        why: "outcome unknown",
      });
      const { value } = await waits.first([`signal/${place.id}`]);
      if (value !== "rerun") return unknown(tool);
      rerun = true;
    }
    await host.driver.refresh();
  }
}

/** The closure of a tool step: decide, pass the gate, execute. */
async function attempt(
  host: ToolHost,
  place: StepPlace,
  io: StepIo,
  tool: EffectTool,
  input: Json,
  rerun: boolean,
): Promise<Call> {
  const calls = new ModelCalls(host, place, io, 0);
  const { charges } = calls;
  const made = AttemptId.of(io.attempt);
  const began = host.primitives.now();
  const done = (result: ToolResult, reported: number): Call => {
    const ms = host.primitives.now() - began;
    host.observer.seen(
      "tool.end",
      { tool: tool.name, callId: made, status: statusOf(result), durationMs: ms },
      made,
    );
    return { kind: "done", result, attempt: made, ms, charges, reported };
  };
  const decided = await decide(host, tool, input);
  if ("refusal" in decided) return done(failure(decided.refusal), 0);
  const { gate, reported } = tool.idempotent ? open : await passGate(host, place, io, tool, rerun);
  if (gate.kind === "refused") return { ...refused(gate), charges, reported };
  if (gate.kind === "earlier-attempt-open") {
    return { kind: tool.onUnknown === "ask" ? "ask" : "unknown", charges, reported };
  }
  host.observer.seen("tool.start", { tool: tool.name, callId: made }, made);
  try {
    return done(await executed(host, place, io, { tool, input: decided.value, calls }), reported);
  } catch (error) {
    const stopped = stoppedBy(io.signal);
    if (!stopped) return done(failure(messageOf(error)), reported);
    if (stopped.code === "preempted")
      return { kind: tool.idempotent ? "interrupted" : "unknown", charges, reported };
    return {
      kind: "cancelled",
      reason: stopped instanceof CancellationError ? stopped.reason : "cancelled",
      charges,
      reported,
    };
  }
}

/** An idempotent tool passes no gate. */
const open: Pick<ReplyOf<"begin">, "reported"> & { readonly gate: { readonly kind: "granted" } } = {
  gate: { kind: "granted" },
  reported: 0,
};

interface Wanted {
  readonly tool: EffectTool;
  readonly input: Json;
  readonly calls: ModelCalls;
}

async function executed(host: ToolHost, place: StepPlace, io: StepIo, wanted: Wanted): Promise<ToolResult> {
  const layers = host.policy.function ?? [];
  if (layers.length === 0) return execute(host, place, io, wanted);
  const { tool, input, calls } = wanted;
  const context: FunctionContext = {
    agentName: host.agentId,
    runId: host.scope.runId,
    functionName: tool.name,
    arguments: input,
    result: undefined,
    scope: {
      signal: io.signal,
      llm: (messages, given = {}) => calls.make(modelOf(host, given.model), messages, given),
    },
  };
  try {
    await throughLayers(layers, context, async () => {
      context.result = await execute(host, place, io, wanted);
    });
  } catch (error) {
    if (error instanceof MiddlewareTermination) return failure(error.message);
    throw error;
  }
  return context.result ?? failure("middleware ended without a result");
}

function modelOf({ model }: ToolHost, given: ToolHost["model"]): NonNullable<ToolHost["model"]> {
  const known = given ?? model;
  if (!known) throw new TypeError("this agent has no model");
  return known;
}

async function execute(
  { clock }: ToolHost,
  place: StepPlace,
  io: StepIo,
  { tool, input }: Wanted,
): Promise<ToolResult> {
  const timeoutS = tool.timeoutS ?? defaultTimeoutS;
  const late = (): Error =>
    new ToolRefusedError({ tool: tool.name, reason: `no result after ${timeoutS} s` });
  const value = await within(clock, { ms: timeoutS * 1000, signal: io.signal, late }, (signal) =>
    tool.execute(input, { signal, idempotencyKey: place.id }),
  );
  return success(value);
}

async function passGate(
  { primitives, driver }: ToolHost,
  place: StepPlace,
  io: StepIo,
  tool: EffectTool,
  rerun: boolean,
): Promise<ReplyOf<"begin">> {
  const { launch, epoch } = primitives;
  const begin = {
    run: launch.runId,
    step: place.id,
    attempt: io.attempt,
    epoch,
    ask: null,
    rerun,
    subject: tool.name,
    reports: driver.outbox.unsent,
    previous: [],
    at: primitives.now(),
  };
  return Json.as(await io.call(launch.tree, "begin", Json.of(begin)));
}

const success = (value: Json | undefined): ToolResult => ({
  content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
  isError: false,
  value: value ?? null,
});

const failure = (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true });

const unknown = (tool: Tool): ToolResult =>
  failure(`the outcome of ${tool.name} is unknown: it may or may not have happened; do not assume either`);

const statusOf = ({ isError }: ToolResult): "ok" | "error" => (isError ? "error" : "ok");

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
