import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import * as fc from "fast-check";
import { BudgetExhaustedError, Usage } from "reeve";
import { Money } from "#kernel";
import { govern, type GovernEvent, type SpendAccount, type SpendBudget } from "reeve/govern";

/** Kinds of failing calls, and none. */
const faults = [
  "none",
  "unreachable",
  "throws",
  "hangs",
  "no-usage",
  "absurd-usage",
  "broken-stream",
  "endless-stream",
  "given-up-stream",
] as const;

type Fault = (typeof faults)[number];

export interface CallPlan {
  readonly kind: "call";
  readonly words: readonly string[];
  readonly wants: number;
  readonly allows: number | undefined;
  readonly fault: Fault;
  readonly streamed: boolean;
}

export interface AccountPlan {
  readonly kind: "account";
  readonly budget: SpendBudget;
  readonly parallel: boolean;
  readonly work: readonly (CallPlan | AccountPlan)[];
}

const words = fc.array(fc.string({ maxLength: 40, unit: "grapheme" }), { minLength: 1, maxLength: 3 });
const call: fc.Arbitrary<CallPlan> = fc.record({
  kind: fc.constant("call" as const),
  words,
  wants: fc.nat(300),
  allows: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
  fault: fc.constantFrom(...faults, "none", "none", "none", "none"),
  streamed: fc.boolean(),
});
const budget: fc.Arbitrary<SpendBudget> = fc.record(
  { maxTokens: fc.nat(4_000), maxCostUsd: fc.nat(4_000).map(Money.usd), maxTurns: fc.nat(12) },
  { requiredKeys: [] },
);

/** Random trees of accounts and calls. */
export const programs: fc.Arbitrary<AccountPlan> = fc.letrec<{
  account: AccountPlan;
  node: CallPlan | AccountPlan;
}>((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, { weight: 4, arbitrary: call }, { weight: 1, arbitrary: tie("account") }),
  account: fc.record({
    kind: fc.constant("account" as const),
    budget,
    parallel: fc.boolean(),
    work: fc.array(tie("node"), { maxLength: 8 }),
  }),
})).account;

const price = { input: 1_000_000, output: 3_000_000 };

/** The bill of an account, counted by the model alone. */
export interface Shadow {
  readonly account: SpendAccount;
  readonly below: Shadow[];
  tokens: number;
  cost: number;
  /** By attempt, the finally booked amount. */
  readonly booked: Map<string, number>;
}

/** A model that bills a call as soon as it arrives, whatever its outcome, and answers on its turn. */
export class MeteredModel {
  readonly over: string[] = [];
  refused = 0;
  billed = 0;
  readonly #scheduler: fc.Scheduler;
  readonly #governed: LanguageModelV4;
  readonly #calls = new Map<string, { readonly plan: CallPlan; readonly path: readonly Shadow[] }>();

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
    const model: LanguageModelV4 = {
      specificationVersion: "v4",
      provider: "metered",
      modelId: "metered",
      supportedUrls: {},
      doGenerate: (options) => this.#generate(options),
      doStream: (options) => this.#stream(options),
    };
    this.#governed = govern(model, { prices: { metered: price }, maxOutputTokens: 200 });
  }

  /** Runs a program; returns the shadow of its outermost account. */
  async run(plan: AccountPlan, above: readonly Shadow[] = []): Promise<Shadow> {
    const booked = new Map<string, number>();
    const onEvent = (event: GovernEvent): void => {
      if (event.type === "budget.settled") booked.set(event.attempt, event.tokens);
    };
    return govern.run({ budget: plan.budget, onEvent }, async (account) => {
      const shadow: Shadow = { account, below: [], tokens: 0, cost: 0, booked };
      const path = [shadow, ...above];
      const start = async (item: CallPlan | AccountPlan): Promise<void> => {
        if (item.kind === "account") shadow.below.push(await this.run(item, path));
        else await this.#call(item, path);
      };
      if (plan.parallel) await Promise.all(plan.work.map(start));
      else for (const item of plan.work) await start(item);
      return shadow;
    });
  }

  async #call(plan: CallPlan, path: readonly Shadow[]): Promise<void> {
    const id = String(this.#calls.size);
    this.#calls.set(id, { plan, path });
    const abort = new AbortController();
    if (plan.fault === "hangs") void this.#scheduler.schedule(Promise.resolve()).then(() => abort.abort());
    const options: LanguageModelV4CallOptions = {
      prompt: plan.words.map((text) => ({ role: "user", content: [{ type: "text", text }] })),
      headers: { id },
      abortSignal: abort.signal,
      ...(plan.allows !== undefined && { maxOutputTokens: plan.allows }),
    };
    try {
      if (!plan.streamed) return void (await this.#governed.doGenerate(options));
      const { stream } = await this.#governed.doStream(options);
      for await (const _ of stream) if (plan.fault === "given-up-stream") break;
    } catch (error) {
      if (error instanceof BudgetExhaustedError) this.refused += 1;
    }
  }

  async #generate(options: LanguageModelV4CallOptions) {
    const { plan, usage } = this.#bill(options);
    await this.#scheduler.schedule(Promise.resolve());
    if (plan.fault === "throws") throw new Error("after the work was done");
    if (plan.fault === "hangs") await waitForAbort(options.abortSignal);
    const finishReason = { unified: "stop", raw: undefined } as const;
    return { content: [], finishReason, usage: reportUsage(usage, plan.fault), warnings: [] };
  }

  async #stream(options: LanguageModelV4CallOptions) {
    const { plan, usage } = this.#bill(options);
    const { fault } = plan;
    const scheduler = this.#scheduler;
    async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
      yield { type: "text-start", id: "1" };
      await scheduler.schedule(Promise.resolve());
      if (fault === "throws" || fault === "broken-stream") throw new Error("broken off");
      if (fault === "hangs") await waitForAbort(options.abortSignal);
      if (fault === "endless-stream") return;
      yield {
        type: "finish",
        finishReason: { unified: "stop", raw: undefined },
        usage: reportUsage(usage, fault),
      };
    }
    return { stream: ReadableStream.from(parts()) };
  }

  #bill({ headers, prompt, maxOutputTokens }: LanguageModelV4CallOptions) {
    const asked = this.#calls.get(headers?.["id"] ?? "");
    if (!asked) throw new Error("an unknown call");
    const { plan, path } = asked;
    if (plan.fault === "unreachable")
      throw Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
    const output = Math.min(plan.wants, maxOutputTokens ?? Infinity);
    const usage = { input: prompt.reduce((sum, message) => sum + tokensOf(message), 0), output };
    const cost = Usage.cost(usage, price);
    this.billed += 1;
    for (const shadow of path) {
      shadow.tokens += Usage.tokens(usage);
      shadow.cost += cost;
      const { maxTokens = Infinity, maxCostUsd = Infinity } = shadow.account.budget;
      if (shadow.tokens > maxTokens) this.over.push(`${shadow.tokens} of ${maxTokens} tokens`);
      if (shadow.cost > Money.cap(maxCostUsd)) this.over.push(`${shadow.cost} of ${maxCostUsd} dollars`);
    }
    return { plan, usage };
  }
}

/** Returns the same count for the same message: at most its bytes and the overhead. */
function tokensOf(message: object): number {
  const text = JSON.stringify(message);
  return Math.ceil((Buffer.byteLength(text) + 16) * ((text.length % 10) + 1) * 0.1);
}

function reportUsage({ input, output }: Usage, fault: Fault) {
  const total = fault === "no-usage" ? undefined : fault === "absurd-usage" ? input * 1e9 : input;
  return {
    inputTokens: { total, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  };
}

async function waitForAbort(signal: AbortSignal | undefined): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve());
  });
  throw signal?.reason;
}
