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
import type { CarriedPrompt, Wish } from "#tree";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** A call that is to be made. */
interface PlannedCall {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  /** The first entry of a stored conversation that the prompt begins with; null: it has none. Absent: it was not read. */
  readonly from?: EntryId | null | undefined;
}

/** The estimate of a call. */
export interface CallEstimate {
  readonly wish: Wish;
  /** The part without an upper bound, and the line that allows it; null where the call is bounded. */
  readonly remedy: string | null;
}

/** The basis of estimates: the prices of models, and the sizes of prompts that providers have told. */
export interface CallSizing {
  readonly prices: PriceList;
  readonly sizes: PromptSizes;
}

/** Estimates the most that a call can cost, for the gate. */
export function estimateCall(
  { prices, sizes }: CallSizing,
  { model, messages, options, from }: PlannedCall,
): CallEstimate {
  const price = prices.add(model);
  const sent = mergeOptions(model.options ?? {}, options.providerOptions ?? {});
  const extra = optionCost(sent, model.allowOptions);
  const { tools = [] } = options;
  const bound = inputBound(messages, tools, {
    reported: sizes.last(model, { messages, tools, from }),
    reader: model,
  });
  const unbounded = [
    ...refusedOptions(extra.refused),
    ...((extra.writesCache || writesCache(messages)) && price && price.cacheWrite === undefined
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
  const wish: Wish = {
    inputTokens: inputTokens === null ? null : inputTokens + extra.inputTokens + schemaTokens,
    outputTokens,
    minOutputTokens: Math.min(minOutputTokens, outputTokens),
    model: Price.key(model),
    price,
    unpriced: options.unpriced ?? "refuse",
    landing: options.landing ?? false,
  };
  return { wish, remedy: isBounded ? null : unbounded.join("; ") };
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
  "the call writes to the provider's cache, and the price has no cacheWrite; give the cache option to languageModel(model, { providerOptions }), or a price with cacheWrite";

const unboundedParts =
  "the number of tokens of its files is not known; say how many one file can be with languageModel(model, { maxFileTokens: <tokens> }), or how many fit into a prompt with { contextWindow: <tokens> }";

/**
 * Returns a list that does not change: what is measured is what is sent, and what its size is remembered for. Callers may
 * change theirs while a call waits at the gate or is in flight. A list that is frozen is not copied.
 */
export function fixed(messages: readonly ChatMessage[]): readonly ChatMessage[] {
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

  /** Returns a model's price. @throws TypeError if it is not valid, or differs from the known one. */
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

/** A prompt as it was sent. */
interface SentPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** As of a planned call. */
  readonly from?: EntryId | null | undefined;
}

/**
 * The last prompt of each model whose size its provider told. A size counts for the same provider and model, and for the
 * same tools and messages only: by identity in one execution (measured messages are frozen), by digest in the next.
 *
 * A prompt with a stored conversation is known inside its step only. Entries never change, so what stands for it outside is
 * a digest of its beginning and the number of its messages.
 */
export class PromptSizes {
  readonly #prompts = new Map<string, ReportedPrompt>();
  readonly #carried: Map<string, CarriedPrompt>;
  /** The last prompt of each model with a stored conversation. */
  readonly #inSteps = new Map<string, ReportedPrompt>();
  /** The size that the turn before has left in the conversation. */
  #stored: SessionEntry["told"];

  constructor(carried: readonly CarriedPrompt[] = []) {
    this.#carried = new Map(carried.map((prompt) => [prompt.model, prompt]));
  }

  /** Returns the last size of a model's prompt; undefined if there is none. */
  last(model: Model, sent: SentPrompt): ReportedPrompt | undefined {
    const key = Price.key(model);
    if (sent.from !== undefined) return this.#inSteps.get(key) ?? this.#told(key, sent);
    return this.#prompts.get(key) ?? this.#adopt(key, sent);
  }

  /** Inside a step: takes the size that the conversation has. */
  offer(stored: SessionEntry["told"]): void {
    this.#stored = stored;
  }

  /**
   * Inside a step: remembers what a provider told of a prompt with a stored conversation. Returns what stands for it
   * outside; undefined if nothing can.
   */
  learn(key: string, sent: SentPrompt, usage: Usage | null): Omit<CarriedPrompt, "usage"> | undefined {
    if (!keep(this.#inSteps, key, sent, usage)) return undefined;
    return { model: key, messages: sent.messages.length, digest: beginningOf(key, sent) };
  }

  /** After the step, replayed or not. */
  tell(prompt: CarriedPrompt): void {
    this.#carried.set(prompt.model, prompt);
  }

  /** Remembers what a model's provider told of a prompt, unless that cannot be: no message is less than a token. */
  remember(key: string, sent: SentPrompt, usage: Usage | null): void {
    keep(this.#prompts, key, sent, usage);
  }

  /** For the next execution. */
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

  /** Finds the size of the beginning of a prompt with a stored conversation; undefined if it is not known. */
  #told(key: string, sent: SentPrompt): ReportedPrompt | undefined {
    const { messages, tools } = sent;
    const digest = beginningOf(key, sent);
    const carried = this.#carried.get(key);
    const told = carried?.digest === digest ? carried : this.#stored?.hash === digest ? this.#stored : null;
    if (!told || told.messages > messages.length) return undefined;
    return ReportedPrompt.of(messages.slice(0, told.messages), tools, told.usage);
  }

  /** Takes over what the execution before knew, if this is that prompt, perhaps with more behind it. */
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

/** Keeps the size of a prompt as the provider told it. False if the figure cannot be true. */
function keep(
  prompts: Map<string, ReportedPrompt>,
  key: string,
  { messages, tools }: SentPrompt,
  usage: Usage | null,
): boolean {
  if (!usage || !Usage.isSane(usage) || usage.input < messages.length) return false;
  const before = prompts.get(key);
  prompts.set(key, before?.next(messages, tools, usage) ?? ReportedPrompt.of(messages, tools, usage));
  return true;
}

function digestOf({ messages, tools }: SentPrompt): string {
  return hash("sha256", JSON.stringify([messages, tools]));
}

/** A digest of the model, the system message, the tools, and the entry that a prompt begins with. */
function beginningOf(key: string, { messages, tools, from }: SentPrompt): string {
  const system = messages[0]?.role === "system" ? messages[0] : null;
  return hash("sha256", JSON.stringify([key, system, tools, from]));
}
