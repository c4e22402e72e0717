import { AsyncLocalStorage } from "node:async_hooks";
import { Usage, type Price } from "#kernel";
import { classifyError, modelFacts, type ModelName } from "#models";
import type { CallPolicy, GovernOptions } from "./govern-options.ts";
import { PromptSizes } from "./prompt-sizes.ts";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";
import { TabCall } from "./tab-call.ts";
import { Tab } from "./tab.ts";
import { cacheWrites, type WirePrompt } from "./wire-prompt.ts";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;

/** The accounts that the code running now has been entered into, innermost first. */
const entered = new AsyncLocalStorage<readonly Tab[]>();

/** Books everything that is called inside on an account, and on all accounts around it. */
export function onAccount<Result>(
  options: AccountOptions | SpendAccount,
  work: (account: SpendAccount) => Result,
): Result {
  const tab = Tab.of(options);
  return entered.run([tab, ...(entered.getStore() ?? [])], () => work(tab));
}

/** A call as it leaves the caller. */
export interface Asked {
  readonly model: ModelName;
  readonly prompt: WirePrompt;
  /** Undefined: the caller does not say. */
  readonly outputTokens: number | undefined;
  /** Besides those: what the provider's package adds on top. */
  readonly extraOutputTokens: number;
  /** Less is of no use, whatever the policy. */
  readonly minOutputTokens?: number | undefined;
}

/** A call that is paid for at its worst. */
export interface Granted {
  /** The most it may say; undefined where nothing limits it and the caller did not either. */
  readonly outputTokens: number | undefined;
  readonly isShrunk: boolean;
  /** What it used; null where nobody knows. */
  readonly settle: (usage: Usage | null) => void;
  readonly fail: (error: unknown) => void;
}

/** Lets calls begin, each on its own account and on all that are entered where it is made. */
export class Governor {
  readonly account: Tab;
  readonly #policy: CallPolicy;
  readonly #sizes = new PromptSizes();

  constructor(options: GovernOptions) {
    this.account = Tab.of("account" in options ? options.account : options);
    this.#policy = options;
  }

  /** @throws BudgetExhaustedError with nothing booked. */
  begin(asked: Asked): Granted {
    const { model, prompt, extraOutputTokens } = asked;
    const tabs = this.#tabs();
    const isLimited = tabs.some(({ limit }) => limit !== null);
    const { unbounded, unpriced = "refuse", maxOutputTokens = defaultMaxOutput } = this.#policy;
    const bound = this.#sizes.bound(prompt);
    const outputTokens = (asked.outputTokens ?? maxOutputTokens) + extraOutputTokens;
    const least = Math.max(this.#policy.minOutputTokens ?? defaultMinOutput, asked.minOutputTokens ?? 0);
    const call = TabCall.begin(tabs, {
      model: model.id,
      inputTokens: bound ?? this.#sizes.guess(prompt),
      isBounded: bound !== null || unbounded === "allow",
      outputTokens,
      minOutputTokens: Math.min(least, outputTokens),
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

  /** Lets something be done that nobody can count. @throws BudgetExhaustedError where anything is limited. */
  allow(what: string): void {
    if (this.#policy.unbounded !== "allow") TabCall.refuseUnbounded(this.#tabs(), what);
  }

  #tabs(): readonly Tab[] {
    return [...new Set([...(entered.getStore() ?? []), this.account])];
  }

  #price({ model, prompt }: Asked): Price | null {
    const circumstances = { overrides: this.#policy.prices, cacheWrites: cacheWrites(prompt) };
    return modelFacts(model, circumstances).price;
  }
}
