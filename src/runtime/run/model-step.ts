import {
  AttemptId,
  BudgetExhaustedError,
  CancellationError,
  decodeError,
  encodeError,
  Json,
  NotFoundError,
  PreemptedError,
  Usage,
  type BudgetDimension,
  type ChatMessage,
  type DenialReason,
  type ErrorData,
  type LlmOptions,
  type Model,
  type ModelResponse,
  type Price,
  type StepIo,
} from "#kernel";
import type { Gate } from "#ledger";
import { inputBound } from "#models";
import type { ReplyOf } from "../tree/protocol.ts";
import { journaled, placeStep, stoppedBy, type StepHost, type StepPlace, type StepRecord } from "./step.ts";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** What a model step needs besides. */
export interface ModelHost extends StepHost {
  /** The agent's own model. */
  readonly model: Model | undefined;
  readonly prices: Readonly<Record<string, Price>>;
}

type Call =
  | {
      readonly kind: "answered";
      readonly attempt: AttemptId;
      readonly response: ModelResponse;
      readonly ms: number;
    }
  | { readonly kind: "failed"; readonly attempt: AttemptId; readonly error: ErrorData; readonly ms: number }
  /** Its run had to yield: to be made again. */
  | { readonly kind: "interrupted"; readonly attempt: AttemptId }
  | { readonly kind: "paused" }
  | { readonly kind: "cancelled"; readonly reason: string }
  | {
      readonly kind: "denied";
      readonly dimension: BudgetDimension;
      readonly limit: number;
      readonly used: number;
      readonly reason: DenialReason | null;
    };

/** One model call: through the gate, made, and reported for settlement. */
export async function llm(
  host: ModelHost,
  messages: readonly ChatMessage[],
  options: LlmOptions,
): Promise<ModelResponse> {
  const model = options.model ?? host.model;
  if (!model) throw new NotFoundError({ what: "model", id: "for this agent" });
  const place = placeStep(host, "model", `${model.id}/${messages.length}/${JSON.stringify(messages.at(-1))}`);
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a call is made again only when the one before has ended
    const record = await journaled(host, place, (io) => attempt(host, place, io, model, messages, options));
    const response = conclude(host, place, model, record);
    if (response) return response;
    // oxlint-disable-next-line no-await-in-loop -- how the run stands decides whether the next one may start
    await host.driver.refresh();
  }
}

/** What a record means to the caller; null: to be made again. */
function conclude(
  host: ModelHost,
  { id }: StepPlace,
  model: Model,
  record: Call & StepRecord & { readonly reported: number },
): ModelResponse | null {
  const { outbox } = host.driver;
  outbox.acknowledge(record.reported);
  switch (record.kind) {
    case "answered": {
      const { response, attempt: made, ms } = record;
      outbox.settle({ step: id, attempt: made, usage: response.usage });
      outbox.event("model.end", record.t, made, {
        model: model.id,
        usage: response.usage ?? Usage.none,
        durationMs: ms,
      });
      return response;
    }
    case "failed": {
      const { error, attempt: made, ms } = record;
      outbox.settle({ step: id, attempt: made, usage: null });
      outbox.event("model.end", record.t, made, {
        model: model.id,
        usage: Usage.none,
        durationMs: ms,
        error,
      });
      throw decodeError(error);
    }
    case "interrupted":
      outbox.settle({ step: id, attempt: record.attempt, usage: null });
      return null;
    case "paused":
      return null;
    case "cancelled":
      throw new CancellationError({ reason: record.reason });
    case "denied":
      throw new BudgetExhaustedError(record);
  }
}

async function attempt(
  host: ModelHost,
  place: StepPlace,
  io: StepIo,
  model: Model,
  messages: readonly ChatMessage[],
  options: LlmOptions,
): Promise<Call & { readonly reported: number }> {
  const id = AttemptId.of(io.attempt);
  const { gate, reported } = await passGate(host, place, io, model, messages, options);
  if (gate.kind !== "granted") return { ...refusal(gate), reported };
  const began = host.primitives.now();
  const request = {
    messages,
    tools: options.tools ?? [],
    maxOutputTokens: gate.outputTokens,
    ...(options.providerOptions && { options: options.providerOptions }),
  };
  try {
    const response = await model.generate(request, { signal: io.signal });
    return { kind: "answered", attempt: id, response, ms: host.primitives.now() - began, reported };
  } catch (error) {
    const stopped = stoppedBy(io.signal);
    if (stopped instanceof PreemptedError) return { kind: "interrupted", attempt: id, reported };
    return {
      kind: "failed",
      attempt: id,
      error: encodeError(stopped ?? error),
      ms: host.primitives.now() - began,
      reported,
    };
  }
}

async function passGate(
  { primitives, driver, prices }: ModelHost,
  place: StepPlace,
  io: StepIo,
  model: Model,
  messages: readonly ChatMessage[],
  options: LlmOptions,
): Promise<ReplyOf<"begin">> {
  const ask = {
    inputTokens: inputBound(messages, options.tools),
    outputTokens: options.maxOutputTokens ?? model.maxOutputTokens ?? defaultMaxOutput,
    minOutputTokens: options.minOutputTokens ?? defaultMinOutput,
    price: prices[model.id] ?? model.price ?? null,
    unpriced: options.unpriced ?? "refuse",
    landing: options.landing ?? false,
  };
  const { launch, epoch } = primitives;
  const begin = {
    run: launch.runId,
    step: place.id,
    attempt: io.attempt,
    epoch,
    ask: { ...ask, minOutputTokens: Math.min(ask.minOutputTokens, ask.outputTokens) },
    rerun: false,
    subject: model.id,
    reports: driver.outbox.unsent,
    at: primitives.now(),
  };
  return Json.as(await io.call(launch.tree, "begin", Json.of(begin)));
}

function refusal(gate: Exclude<Gate, { kind: "granted" }>): Call {
  if (gate.kind === "denied") return gate;
  if (gate.kind !== "refused") throw new Error(`the gate answered a model call with ${gate.kind}`);
  return refused(gate);
}

/** What a run that may begin nothing does: wait for its slot, or stop. */
export function refused(
  gate: Extract<Gate, { kind: "refused" }>,
): { readonly kind: "paused" } | { readonly kind: "cancelled"; readonly reason: string } {
  switch (gate.why) {
    case "paused":
      return { kind: "paused" };
    case "superseded":
      // Not the run's end: another execution has taken over, and the engine drops this one.
      throw new Error("superseded: a later execution of this run has passed the gate");
    case "cancelled":
    case "deadline":
    case "ended":
      return { kind: "cancelled", reason: gate.reason ?? gate.why };
  }
}
