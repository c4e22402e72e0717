import {
  ChatMessage,
  decodeError,
  encodeError,
  NotFoundError,
  Usage,
  type ChatContext,
  type ChatMiddleware,
  type ErrorData,
  type LlmOptions,
  type Model,
  type ModelResponse,
  type StepIo,
} from "#kernel";
import { placeRetry, throughLayers } from "#agents";
import { ReportedPrompt } from "#models";
import { defaultTimeoutMs, ModelCalls, type Charge, type Stop } from "./model-calls.ts";
import type { ModelHost } from "./model-host.ts";
import { stepScope } from "./step-scope.ts";
import { journaled, placeStep, type StepPlace, type StepRecord } from "./step.ts";

type Call = (
  | { readonly kind: "answered"; readonly response: ModelResponse }
  | { readonly kind: "failed"; readonly error: ErrorData }
  | Stop
) & { readonly charges: readonly Charge[]; readonly reported: number };

/** One model call: through its middleware and the gate, made, and reported for settlement. */
export async function llm(
  host: ModelHost,
  messages: readonly ChatMessage[],
  options: LlmOptions,
): Promise<ModelResponse> {
  const model = options.model ?? host.model;
  if (!model) throw new NotFoundError({ what: "model", id: "for this agent" });
  const place = placeStep(host, "model", `${model.id}/${messages.length}/${JSON.stringify(messages.at(-1))}`);
  let retries = 0;
  for (;;) {
    const used = retries;
    const record = await journaled(host, place, (io) =>
      call(host, place, io, { model, messages, options, used }),
    );
    host.driver.outbox.acknowledge(record.reported);
    settleCharges(host, record);
    switch (record.kind) {
      case "answered":
        remember(host, model, messages, options, record.response);
        return record.response;
      case "failed":
        throw decodeError(record.error);
      case "cancelled":
        return host.driver.stopped(record.reason);
      case "later":
        retries = record.retries;
        await host.driver.waits.first([], { at: record.at });
        break;
      case "paused":
      case "interrupted":
        await host.driver.refresh();
    }
  }
}

function remember(
  { reported }: ModelHost,
  { id }: Model,
  messages: readonly ChatMessage[],
  { tools = [] }: LlmOptions,
  { usage, rewritten }: ModelResponse,
): void {
  if (!usage || !Usage.isSane(usage) || rewritten) return;
  const before = reported.get(id);
  reported.set(id, before?.next(messages, tools, usage) ?? ReportedPrompt.of(messages, tools, usage));
}

/** Reports every attempt of a record: the bill first, then what the stream should know. */
export function settleCharges(
  { driver }: ModelHost,
  record: StepRecord & { readonly kind: string; readonly charges: readonly Charge[] },
): void {
  const { outbox } = driver;
  const { charges, t } = record;
  for (const { attempt, model, usage, ms, error, retry, again } of charges) {
    const follows = again !== undefined || (record.kind === "interrupted" && error !== undefined);
    outbox.settle({ attempt, usage, ...(follows && { again: true }) });
    const payload = { model, usage: usage ?? Usage.none, durationMs: ms, ...(error && { error }) };
    outbox.event("model.end", t, attempt, payload);
    if (retry > 0) outbox.event("retry.end", t, attempt, { retry, success: !error });
    if (again && error) outbox.event("retry.start", t, attempt, { ...again, error });
  }
}

interface Wanted {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  /** Retries made before. */
  readonly used: number;
}

/** The closure of a model step. */
async function call(host: ModelHost, place: StepPlace, io: StepIo, wanted: Wanted): Promise<Call> {
  const calls = new ModelCalls(host, place, io, { of: "model", used: wanted.used });
  const outcome = await respond(host, io, calls, wanted).then(
    (response) => ({ kind: "answered", response }) as const,
    (error: unknown) => ({ kind: "failed", error: encodeError(calls.stopped() ?? error) }) as const,
  );
  const { charges, reported } = calls;
  return { ...(calls.stop ?? outcome), charges, reported };
}

function respond(host: ModelHost, io: StepIo, calls: ModelCalls, wanted: Wanted): Promise<ModelResponse> {
  const { chat = [] } = host.policy;
  if (chat.length > 0) return throughChat(host, io, calls, wanted, chat);
  return calls.make(wanted.model, wanted.messages, wanted.options);
}

async function throughChat(
  host: ModelHost,
  io: StepIo,
  calls: ModelCalls,
  wanted: Wanted,
  chat: readonly ChatMiddleware[],
): Promise<ModelResponse> {
  const { options } = wanted;
  const { layers, retry } = placeRetry(chat, host.policy.retry);
  const context = contextOf(host, io, calls, wanted);
  const { systemInstructions: instructions, messages: told, tools: offered } = context;
  let isRewritten = false;
  await throughLayers(layers, context, async () => {
    const { systemInstructions, tools, timeoutMs } = context;
    const system = systemInstructions === "" ? [] : [ChatMessage.system(systemInstructions)];
    isRewritten ||= systemInstructions !== instructions || context.messages !== told || tools !== offered;
    const changed = { ...options, tools, providerOptions: context.options };
    const prompt = [...system, ...context.messages];
    context.result = await calls.make(context.model, prompt, changed, { retry, timeoutMs });
  });
  if (!context.result) throw new TypeError("middleware ended without a result");
  return isRewritten ? { ...context.result, rewritten: true } : context.result;
}

function contextOf(host: ModelHost, io: StepIo, calls: ModelCalls, wanted: Wanted): ChatContext {
  const { messages, options, model } = wanted;
  const [first, ...rest] = messages;
  const hasSystem = first?.role === "system";
  return {
    agentName: host.agentId,
    runId: host.scope.runId,
    systemInstructions: hasSystem ? ChatMessage.text(first) : "",
    messages: hasSystem ? rest : messages,
    tools: options.tools ?? [],
    options: options.providerOptions ?? {},
    model,
    timeoutMs: defaultTimeoutMs,
    result: undefined,
    scope: stepScope(host, io, calls, model),
  };
}
