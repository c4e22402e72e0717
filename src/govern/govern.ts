import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { languageModel, type AiSdkModel } from "#models";
import type { GovernOptions } from "./govern-options.ts";
import { governedFetch, type GovernedFetch, type GovernFetchOptions } from "./governed-fetch.ts";
import { governedModel, type Governed } from "./governed-model.ts";
import { Governor, onAccount } from "./governor.ts";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";
import { GovernAccount } from "./govern-account.ts";

function governModel(model: LanguageModelV4, options?: GovernOptions): Governed<LanguageModelV4>;
function governModel(model: LanguageModelV3, options?: GovernOptions): Governed<LanguageModelV3>;
function governModel(model: AiSdkModel, options?: GovernOptions): Governed;
function governModel(model: AiSdkModel, options: GovernOptions = {}): Governed {
  // Throws an explanation if it is not a model.
  languageModel(model);
  return governedModel(model, new Governor(options));
}

/**
 * Returns the same model with a hard limit. Every call reserves its worst case first, is shortened if that does not
 * fit, and fails with a `BudgetExhaustedError` if even the floor does not fit. It can be used in place of the model.
 */
export const govern = Object.assign(governModel, {
  /**
   * Books all calls inside the callback, at any depth and on any governed model, on one account. A nested account adds
   * its own limits. An open account can be entered again.
   */
  run: <Result>(account: AccountOptions | SpendAccount, work: (entered: SpendAccount) => Result): Result =>
    onAccount(account, work),
  /**
   * Returns a `fetch` with a hard limit, for clients that accept one: those of OpenAI (chat completions, responses), of
   * Anthropic (messages) and compatible ones. A request that does not fit is answered with 402, which clients do not
   * retry. Unknown requests are refused if anything is limited, unless `unbounded` allows them.
   */
  fetch: (options: GovernFetchOptions = {}): GovernedFetch => governedFetch(options),
  /** Opens an account to share between models, or to enter again and again. */
  account: (options: AccountOptions): SpendAccount => new GovernAccount(options),
});
