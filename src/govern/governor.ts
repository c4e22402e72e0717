import { AsyncLocalStorage } from "node:async_hooks";
import { Price, Usage } from "#kernel";
import { classifyError, modelFacts, type OptionCost } from "#models";
import type { CallPolicy, GovernOptions } from "./govern-options.ts";
import { PromptSizes } from "./prompt-sizes.ts";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";
import { ReservedCall } from "./reserved-call.ts";
import { GovernAccount } from "./govern-account.ts";
import { cacheWrites, type WirePrompt } from "./wire-prompt.ts";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** The accounts that the code running now has been entered into, innermost first. */
const entered = new AsyncLocalStorage<readonly GovernAccount[]>();

/** Books everything that is called inside on an account, and on all accounts around it. */
export function onAccount<Result>(
  options: AccountOptions | SpendAccount,
  work: (account: SpendAccount) => Result,
): Result {
  const governAccount = GovernAccount.of(options);
  return entered.run([governAccount, ...(entered.getStore() ?? [])], () => work(governAccount));
}

/** A call as requested by the caller. */
export interface GovernedRequest {
  readonly prompt: WirePrompt;
  /** Undefined if the caller sets no maximum. */
  readonly outputTokens: number | undefined;
  /** The cost that provider options add. */
  readonly options: OptionCost;
  /** The call that takes the options of the policy, for the line that allows something. */
  readonly allowance: string;
  /** Minimum that makes sense for this call, regardless of the policy. */
  readonly minOutputTokens?: number | undefined;
}

/** A call that is paid for at its worst. */
export interface GovernedGrant {
  /** Maximum output tokens. Undefined if neither a limit nor the caller sets one. */
  readonly outputTokens: number | undefined;
  readonly isShrunk: boolean;
  /** Settles the call with its usage. Null if the usage is unknown. */
  readonly settle: (usage: Usage | null) => void;
  readonly fail: (error: unknown) => void;
}

/** Reserves calls on their own account and on all accounts entered by the calling code. */
export class Governor {
  readonly account: GovernAccount;
  readonly #policy: CallPolicy;
  readonly #sizes = new PromptSizes();

  constructor(options: GovernOptions) {
    this.account = GovernAccount.of("account" in options ? options.account : options);
    for (const [name, price] of Object.entries(options.prices ?? {})) Price.check(price, name);
    this.#policy = options;
  }

  /** @throws BudgetExhaustedError with nothing booked. */
  begin(asked: GovernedRequest): GovernedGrant {
    const { prompt, options } = asked;
    const governAccounts = this.#tabs();
    const isLimited = governAccounts.some(({ limit }) => limit !== null);
    const { unbounded, unpriced = "refuse", maxOutputTokens = defaultMaxOutput } = this.#policy;
    const bound = this.#sizes.bound(prompt);
    const perAnswer = (asked.outputTokens ?? maxOutputTokens) + options.thinkingTokens;
    const outputTokens = perAnswer * options.choices;
    const least = Math.max(this.#policy.minOutputTokens ?? defaultMinOutput, asked.minOutputTokens ?? 0);
    const remedy = unbounded === "allow" ? null : remedyFor(asked, bound !== null);
    const call = ReservedCall.begin(governAccounts, {
      model: prompt.model.id,
      inputTokens: (bound ?? this.#sizes.guess(prompt)) + options.inputTokens,
      remedy,
      outputTokens,
      minOutputTokens: Math.min(least * options.choices, outputTokens),
      price: this.#price(asked),
      unpriced,
    });
    const leaveOpen = !isLimited && asked.outputTokens === undefined;
    return {
      outputTokens: leaveOpen ? undefined : call.outputTokens,
      isShrunk: call.isShrunk,
      settle: (usage) => {
        if (call.end(usage) && usage) this.#sizes.report(prompt, usage);
      },
      fail: (error) => void call.end(classifyError(error).unbilled ? Usage.none : null),
    };
  }

  /** Options that may cost anything. */
  get allowOptions(): readonly string[] {
    return this.#policy.allowOptions ?? [];
  }

  /** Allows an operation of unknown cost. @throws BudgetExhaustedError if anything is limited. */
  allow(what: string): void {
    const remedy =
      'the cost of such a request is unknown; allow it with govern.fetch({ unbounded: "allow" })';
    if (this.#policy.unbounded !== "allow") ReservedCall.refuseUnbounded(this.#tabs(), what, remedy);
  }

  #tabs(): readonly GovernAccount[] {
    return [...new Set([...(entered.getStore() ?? []), this.account])];
  }

  #price({ prompt, options }: GovernedRequest): Price | null {
    const writes = cacheWrites(prompt) ?? (options.writesCache ? "1h" : undefined);
    return modelFacts(prompt.model, { overrides: this.#policy.prices, cacheWrites: writes }).price;
  }
}

/** Names the part of a call that has no upper bound, and the line that allows it; null where it is bounded. */
function remedyFor({ options: { refused }, allowance }: GovernedRequest, isBounded: boolean): string | null {
  if (refused.length > 0)
    return `the cost of the provider option ${refused.join(", ")} is unknown; allow it with ${allowance}{ allowOptions: ${JSON.stringify(refused)} })`;
  if (isBounded) return null;
  return `the number of tokens of its files, or of the provider's own tools, is unknown; allow them with ${allowance}{ unbounded: "allow" })`;
}
