import {
  ApprovalId,
  AttemptId,
  CancellationError,
  ContentBlock,
  Json,
  PreemptedError,
  ToolRefusedError,
  type EffectTool,
  type RunContext,
  type RunTool,
  type StepIo,
  type Tool,
  type ToolResult,
} from "#kernel";
import type { ReplyOf } from "../tree/protocol.ts";
import { refused } from "./model-step.ts";
import { journaled, placeStep, stoppedBy, type StepHost, type StepPlace } from "./step.ts";

const defaultTimeoutS = 600;

/** What a tool step needs besides. */
export interface ToolHost extends StepHost {
  readonly tools: readonly Tool[];
  /** The names it may call; null: all. */
  readonly whitelist: readonly string[] | null;
  /** May risky tools run without anybody's word? */
  readonly permissions: "ask" | "allow-all";
}

type Call =
  | { readonly kind: "done"; readonly result: ToolResult; readonly attempt: string; readonly ms: number }
  | { readonly kind: "interrupted" | "paused" | "unknown" | "ask" }
  | { readonly kind: "cancelled"; readonly reason: string };

/** One tool call. Whatever goes wrong with it is a result that says so. */
export async function callTool(
  host: ToolHost,
  ctx: RunContext,
  name: string,
  input: Json,
): Promise<ToolResult> {
  const tool = host.tools.find((candidate) => candidate.name === name);
  const refusal = tool ? refusalOf(host, tool) : "no such tool";
  if (!tool || refusal)
    return failure(new ToolRefusedError({ tool: name, reason: refusal ?? "no such tool" }).message);
  const subject = `${name}/${JSON.stringify(input)}`;
  return "run" in tool ? runTool(host, ctx, tool, input, subject) : effectTool(host, tool, input, subject);
}

function refusalOf({ whitelist, permissions }: ToolHost, { name, risk }: Tool): string | null {
  if (whitelist && !whitelist.includes(name)) return "not among the tools this run may call";
  if (risk === "safe" || permissions === "allow-all") return null;
  return `its risk is ${risk} and nobody can approve it; permissions: "allow-all" would allow it`;
}

/** Agent code: its own calls are steps; only the input is decided in one. */
async function runTool(
  host: ToolHost,
  ctx: RunContext,
  tool: RunTool,
  input: Json,
  subject: string,
): Promise<ToolResult> {
  const place = placeStep(host, "input", subject);
  const decided = await journaled(host, place, () => validate(tool, input));
  if ("issues" in decided) return failure(decided.issues);
  try {
    return success(await tool.run(ctx, decided.value));
  } catch (error) {
    if (error instanceof CancellationError) throw error;
    return failure(messageOf(error));
  }
}

async function effectTool(
  host: ToolHost,
  tool: EffectTool,
  input: Json,
  subject: string,
): Promise<ToolResult> {
  const place = placeStep(host, "tool", subject);
  const { outbox, waits } = host.driver;
  let rerun = tool.onUnknown === "rerun";
  for (;;) {
    const isRerun = rerun;
    // oxlint-disable-next-line no-await-in-loop -- a call is made again only when the one before has ended
    const record = await journaled(host, place, (io) => attempt(host, place, io, tool, input, isRerun));
    outbox.acknowledge(record.reported);
    if (record.kind === "done") return conclude(host, place, tool, record, record.t);
    if (record.kind === "cancelled") throw new CancellationError({ reason: record.reason });
    if (record.kind === "unknown") return unknown(tool);
    if (record.kind === "ask") {
      const approvalId = ApprovalId.of(place.id);
      outbox.event("approval.requested", record.t, null, {
        approvalId,
        tool: tool.name,
        why: "outcome unknown",
      });
      // oxlint-disable-next-line no-await-in-loop
      const { value } = await waits.first([`signal/${place.id}`]);
      if (value !== "rerun") return unknown(tool);
      rerun = true;
    }
    // oxlint-disable-next-line no-await-in-loop -- how the run stands decides whether the next one may start
    await host.driver.refresh();
  }
}

function conclude(
  host: ToolHost,
  { id }: StepPlace,
  tool: EffectTool,
  record: Extract<Call, { kind: "done" }>,
  at: number,
): ToolResult {
  const { outbox } = host.driver;
  const { result, ms: durationMs } = record;
  const made = AttemptId.of(record.attempt);
  outbox.settle({ step: id, attempt: made, usage: null });
  outbox.event("tool.end", at, made, {
    tool: tool.name,
    callId: made,
    status: result.isError ? "error" : "ok",
    durationMs,
  });
  return result;
}

async function attempt(
  host: ToolHost,
  place: StepPlace,
  io: StepIo,
  tool: EffectTool,
  input: Json,
  rerun: boolean,
): Promise<Call & { readonly reported: number }> {
  const decided = await validate(tool, input);
  const began = host.primitives.now();
  const done = (result: ToolResult, reported: number): Call & { readonly reported: number } => ({
    kind: "done",
    result,
    attempt: io.attempt,
    ms: host.primitives.now() - began,
    reported,
  });
  if ("issues" in decided) return done(failure(decided.issues), 0);
  const { gate, reported } = tool.idempotent ? open : await passGate(host, place, io, tool, rerun);
  if (gate.kind === "refused") return { ...refused(gate), reported };
  if (gate.kind === "earlier-attempt-open")
    return { kind: tool.onUnknown === "ask" ? "ask" : "unknown", reported };
  try {
    return done(success(await timed(host, place, io, tool, decided.value)), reported);
  } catch (error) {
    const stopped = stoppedBy(io.signal);
    if (!stopped) return done(failure(messageOf(error)), reported);
    if (stopped instanceof PreemptedError)
      return { kind: tool.idempotent ? "interrupted" : "unknown", reported };
    return {
      kind: "cancelled",
      reason: stopped instanceof CancellationError ? stopped.reason : "cancelled",
      reported,
    };
  }
}

const open: Pick<ReplyOf<"begin">, "reported"> & { readonly gate: { readonly kind: "granted" } } = {
  gate: { kind: "granted" },
  reported: 0,
};

/** Runs the tool no longer than it may. */
async function timed(
  { clock }: ToolHost,
  place: StepPlace,
  io: StepIo,
  tool: EffectTool,
  input: unknown,
): Promise<Json> {
  const late = new AbortController();
  const over = new AbortController();
  const timeoutS = tool.timeoutS ?? defaultTimeoutS;
  const error = new ToolRefusedError({ tool: tool.name, reason: `no result after ${timeoutS} s` });
  clock.waitUntil(clock.now() + timeoutS * 1000, over.signal).then(
    () => late.abort(error),
    () => undefined,
  );
  const signal = AbortSignal.any([io.signal, late.signal]);
  try {
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    return await Promise.race([tool.execute(input, { signal, idempotencyKey: place.id }), stopped]);
  } finally {
    over.abort();
  }
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
    at: primitives.now(),
  };
  return Json.as(await io.call(launch.tree, "begin", Json.of(begin)));
}

async function validate(
  tool: Tool,
  input: Json,
): Promise<{ readonly value: Json } | { readonly issues: string }> {
  const checked = await tool.input["~standard"].validate(input);
  if (checked.issues) return { issues: checked.issues.map(({ message }) => message).join("; ") };
  return { value: Json.of(checked.value) };
}

const success = (value: Json | undefined): ToolResult => ({
  content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
  isError: false,
  value: value ?? null,
});

const failure = (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true });

const unknown = (tool: Tool): ToolResult =>
  failure(`the outcome of ${tool.name} is unknown: it may or may not have happened; do not assume either`);

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
