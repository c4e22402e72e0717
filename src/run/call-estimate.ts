import { hash } from "node:crypto";
import {
  Price,
  Usage,
  type Agent,
  type ChatMessage,
  type EntryId,
  type Guardrail,
  type JsonObject,
  type LlmOptions,
  type Model,
  type SessionEntry,
  type ToolDescription,
} from "#kernel";
import {
  estimateTokens,
  inputBound,
  mergeOptions,
  optionCost,
  ReportedPrompt,
  schemaBound,
  writesCache,
} from "#models";
import type { CarriedPrompt, CallRequest } from "#tree";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** A call to estimate. */
interface PlannedCall {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  /** The stored conversation's first entry in the prompt. Null: none. Absent: it was not read. */
  readonly from?: EntryId | null | undefined;
}

/** The estimate of a call. */
export interface CallEstimate {
  readonly reservation: CallRequest;
  /** The part without an upper bound, and the option that allows it. Null if the call is bounded. */
  readonly remedy: string | null;
}

/** The basis of estimates: prices of models, and prompt sizes that providers have reported. */
export interface CallSizing {
  readonly prices: PriceList;
  readonly sizes: PromptSizes;
}

/** Estimates the maximum cost of a call, for the gate. */
export function estimateCall(
  { prices, sizes }: CallSizing,
  { model, messages, options, from }: PlannedCall,
): CallEstimate {
  const price = prices.add(model);
  const sent = mergeOptions(model.options ?? {}, options.providerOptions ?? {});
  const extra = optionCost(sent, model.allowOptions);
  const { tools = [] } = options;
  const bound = inputBound(messages, tools, {
    reported: sizes.getLast(model, { messages, tools, from }),
    reader: model,
  });
  const unbounded = [
    ...refusedOptions(extra.refused),
    // The price first: it decides without a look at the messages.
    ...(price && price.cacheWrite === undefined && (extra.writesCache || writesCache(messages))
      ? [unpricedWrites]
      : []),
    ...(Number.isFinite(bound) ? [] : [unboundedParts]),
  ];
  const schemaTokens = isNative(model, options) ? schemaBound(options.outputSchema) : 0;
  const isBounded = unbounded.length === 0;
  const guess = options.unbounded === "allow" ? estimateTokens(messages, tools) : null;
  const perAnswer = options.maxOutputTokens ?? model.maxOutputTokens ?? defaultMaxOutput;
  const outputTokens = perAnswer * extra.choices;
  const minOutputTokens = (options.minOutputTokens ?? defaultMinOutput) * extra.choices;
  const inputTokens = Number.isFinite(bound) && (isBounded || guess !== null) ? bound : guess;
  const reservation: CallRequest = {
    inputTokens: inputTokens === null ? null : inputTokens + extra.inputTokens + schemaTokens,
    outputTokens,
    minOutputTokens: Math.min(minOutputTokens, outputTokens),
    model: Price.key(model),
    price,
    unpriced: options.unpriced ?? "refuse",
    landing: options.landing ?? false,
  };
  return { reservation, remedy: isBounded ? null : unbounded.join("; ") };
}

/** Whether a call carries a schema in its request. */
export function isNative(
  { structuredOutput }: Model,
  options: LlmOptions,
): options is LlmOptions & { readonly outputSchema: JsonObject } {
  return structuredOutput === "native" && options.outputSchema !== undefined;
}

function refusedOptions(refused: readonly string[]): readonly string[] {
  if (refused.length === 0) return [];
  const list = JSON.stringify(refused);
  return [
    `the cost of the provider option ${refused.join(", ")} is not known; allow it with languageModel(model, { allowOptions: ${list} })`,
  ];
}

const unpricedWrites =
  "the call writes to the provider's cache, and the price has no cacheWrite; set the cache option in languageModel(model, { providerOptions }), or give a price with cacheWrite";

const unboundedParts =
  "the number of tokens of its files is not known; set the maximum of one file with languageModel(model, { maxFileTokens: <tokens> }), or of a prompt with { contextWindow: <tokens> }";

/**
 * Returns an immutable list, so that the measured messages are the sent ones. Callers may change theirs while a call
 * waits at the gate or is in flight. A frozen list is not copied.
 */
export function freezeList(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return Object.isFrozen(messages) ? messages : Object.freeze(messages.slice());
}

/** Returns the models that agents and guardrails name. */
export function modelsIn(agents: readonly Agent[], guardrails: readonly Guardrail[]): readonly Model[] {
  const ownModels = agents.flatMap(({ model, policy = {} }) => {
    const layers = [...(policy.chat ?? []), ...(policy.guardrails ?? [])];
    const { compaction } = policy;
    const summariser = compaction && compaction.model ? [compaction.model] : [];
    return [...(model ? [model] : []), ...summariser, ...layers.flatMap(({ models = [] }) => models)];
  });
  return [...guardrails.flatMap(({ models = [] }) => models), ...ownModels];
}

/** The prices of the models that this process knows, by provider and model id. */
export class PriceList {
  readonly #prices = new Map<string, Price>();

  /** Returns a model's price. @throws TypeError if it is invalid, or differs from the known one. */
  add({ id, provider, price }: Model): Price | null {
    if (!price) return null;
    const key = Price.key({ id, provider });
    const known = this.#prices.get(key);
    const joined = known ? Price.join(known, Price.check(price, key)) : Price.check(price, key);
    if (!joined) throw new TypeError(twoPrices(key, known, price));
    if (joined !== known) this.#prices.set(key, joined);
    return joined;
  }

  /** The prices that a tree pins when it opens. */
  get pinned(): Readonly<Record<string, Price>> {
    return Object.fromEntries(this.#prices);
  }
}

const twoPrices = (key: string, one: Price | undefined, other: Price): string =>
  `two prices for model ${key}: ${JSON.stringify(one)} and ${JSON.stringify(other)}; ` +
  `give both models the same price, or one of them another provider or id`;

/** A prompt in the form it was sent. */
interface SentPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** See {@link PlannedCall}. */
  readonly from?: EntryId | null | undefined;
}

/**
 * The last prompt of each model whose size its provider reported. A size counts only for the same provider, model,
 * tools and messages. They are compared by identity in one execution (measured messages are frozen), by digest in the
 * next.
 *
 * A prompt with a stored conversation is known only inside its step. Entries never change, so outside the step a digest
 * of its beginning and the number of its messages represent it.
 */
export class PromptSizes {
  readonly #prompts = new Map<string, ReportedPrompt>();
  readonly #carried: Map<string, CarriedPrompt>;
  /** The last prompt of each model with a stored conversation. */
  readonly #inSteps = new Map<string, ReportedPrompt>();
  /** The size that the previous turn has stored in the conversation. */
  #stored: SessionEntry["told"];

  constructor(carried: readonly CarriedPrompt[] = []) {
    this.#carried = new Map(carried.map((prompt) => [prompt.model, prompt]));
  }

  /** Returns the last known size of a model's prompt. Undefined if there is none. */
  getLast(model: Model, sent: SentPrompt): ReportedPrompt | undefined {
    const key = Price.key(model);
    if (sent.from !== undefined) return this.#inSteps.get(key) ?? this.#findReported(key, sent);
    return this.#prompts.get(key) ?? this.#adopt(key, sent);
  }

  /** Offers the size stored in the conversation. Called inside a step. */
  offer(stored: SessionEntry["told"]): void {
    this.#stored = stored;
  }

  /**
   * Remembers the reported size of a prompt with a stored conversation. Called inside a step. Returns its
   * representation outside the step. Undefined if there is none.
   */
  learn(key: string, sent: SentPrompt, usage: Usage | null): Omit<CarriedPrompt, "usage"> | undefined {
    if (!keep(this.#inSteps, key, sent, usage)) return undefined;
    return { model: key, messages: sent.messages.length, digest: beginningOf(key, sent) };
  }

  /** Stores a prompt's representation. Called after the step, replayed or not. */
  tell(prompt: CarriedPrompt): void {
    this.#carried.set(prompt.model, prompt);
  }

  /** Remembers the reported size of a prompt, unless it is impossible: every message has at least one token. */
  remember(key: string, sent: SentPrompt, usage: Usage | null): void {
    keep(this.#prompts, key, sent, usage);
  }

  /** The sizes for the next execution. */
  get carried(): readonly CarriedPrompt[] {
    const prompts = [...this.#prompts].map(([model, { messages, tools, usage }]) => ({
      model,
      messages: messages.length,
      digest: digestOf({ messages, tools }),
      usage,
    }));
    const known = new Set(this.#prompts.keys());
    return [...prompts, ...[...this.#carried.values()].filter(({ model }) => !known.has(model))];
  }

  /** Finds the size of the beginning of a prompt with a stored conversation. Undefined if unknown. */
  #findReported(key: string, sent: SentPrompt): ReportedPrompt | undefined {
    const { messages, tools } = sent;
    const digest = beginningOf(key, sent);
    const carried = this.#carried.get(key);
    const told = carried?.digest === digest ? carried : this.#stored?.hash === digest ? this.#stored : null;
    if (!told || told.messages > messages.length) return undefined;
    return ReportedPrompt.of(messages.slice(0, told.messages), tools, told.usage);
  }

  /** Adopts a size from the previous execution, if this prompt begins with that one. */
  #adopt(key: string, { messages, tools }: SentPrompt): ReportedPrompt | undefined {
    const carried = this.#carried.get(key);
    if (!carried) return undefined;
    const start = messages.slice(0, carried.messages);
    if (digestOf({ messages: start, tools }) !== carried.digest) return undefined;
    const prompt = ReportedPrompt.of(start, tools, carried.usage);
    this.#carried.delete(key);
    this.#prompts.set(key, prompt);
    return prompt;
  }
}

/** Stores the reported size of a prompt. Returns false if the figure is impossible. */
function keep(
  prompts: Map<string, ReportedPrompt>,
  key: string,
  { messages, tools }: SentPrompt,
  usage: Usage | null,
): boolean {
  if (!usage || !Usage.isSane(usage) || usage.input < messages.length) return false;
  const before = prompts.get(key);
  prompts.set(key, before?.extend(messages, tools, usage) ?? ReportedPrompt.of(messages, tools, usage));
  return true;
}

function digestOf({ messages, tools }: SentPrompt): string {
  return hash("sha256", JSON.stringify([messages, tools]));
}

/** Returns a digest of the model, the system message, the tools, and the first entry of a prompt. */
function beginningOf(key: string, { messages, tools, from }: SentPrompt): string {
  const system = messages[0]?.role === "system" ? messages[0] : null;
  return hash("sha256", JSON.stringify([key, system, tools, from]));
}
