import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { languageModel, type AiSdkModel } from "#models";
import type { GovernOptions } from "./govern-options.ts";
import { governedFetch, type GovernedFetch, type GovernFetchOptions } from "./governed-fetch.ts";
import { governedModel, type Governed } from "./governed-model.ts";
import { Governor, onAccount } from "./governor.ts";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";
import { Tab } from "./tab.ts";

function governModel(model: LanguageModelV4, options?: GovernOptions): Governed<LanguageModelV4>;
function governModel(model: LanguageModelV3, options?: GovernOptions): Governed<LanguageModelV3>;
function governModel(model: AiSdkModel, options?: GovernOptions): Governed;
function governModel(model: AiSdkModel, options: GovernOptions = {}): Governed {
  // Says what is wrong with what is no model.
  languageModel(model);
  return governedModel(model, new Governor(options));
}

/**
 * The same model with a hard limit: every call reserves its worst case before it is made, says less where that does
 * not fit, and fails with a `BudgetExhaustedError` where even the floor does not. Usable wherever the model was.
 */
export const govern = Object.assign(governModel, {
  /**
   * One account for everything called inside, however deep, on whichever governed model. One inside another
   * narrows it. An account that was opened before may be entered again.
   */
  run: <Result>(account: AccountOptions | SpendAccount, work: (entered: SpendAccount) => Result): Result =>
    onAccount(account, work),
  /**
   * A `fetch` with a hard limit, for clients that take one: those of OpenAI (chat completions, responses), of Anthropic
   * (messages) and of whoever speaks like them. What does not fit is answered with 402, which no client makes again.
   * Requests of another kind are refused where anything is limited, unless `unbounded` allows them.
   */
  fetch: (options: GovernFetchOptions = {}): GovernedFetch => governedFetch(options),
  /** Opens an account to share between models, or to enter again and again. */
  account: (options: AccountOptions): SpendAccount => new Tab(options),
});
