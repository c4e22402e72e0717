import { type ChatMessage, type LlmOptions, type Model, Usage } from "#kernel";
import { estimateTokens, inputBound, ReportedPrompt } from "#models";
import type { Wish } from "../tree/protocol.ts";
import type { ModelHost } from "./model-host.ts";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** A call that somebody wants to make. */
interface Wanted {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
}

/** What it may come to, for the gate. */
export function wishOf(host: ModelHost, { model, messages, options }: Wanted): Wish {
  const outputTokens = options.maxOutputTokens ?? model.maxOutputTokens ?? defaultMaxOutput;
  const bound = inputBound(messages, options.tools, { reported: reportedOf(host, model, messages, options) });
  const unbounded = options.unbounded === "allow" ? estimateTokens(messages, options.tools) : null;
  return {
    inputTokens: Number.isFinite(bound) ? bound : unbounded,
    outputTokens,
    minOutputTokens: Math.min(options.minOutputTokens ?? defaultMinOutput, outputTokens),
    price: host.prices[model.id] ?? model.price ?? null,
    unpriced: options.unpriced ?? "refuse",
    landing: options.landing ?? false,
  };
}

function reportedOf(
  host: ModelHost,
  { id }: Model,
  messages: readonly ChatMessage[],
  { reported, tools = [] }: LlmOptions,
): ReportedPrompt | undefined {
  const known = host.reported.get(id);
  if (known || !reported || !Usage.isSane(reported.usage)) return known;
  return ReportedPrompt.of(messages.slice(0, reported.messages), tools, reported.usage);
}
