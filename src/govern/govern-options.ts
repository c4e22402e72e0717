import type { Price } from "#kernel";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";

/** Rules for governed calls. */
export interface CallPolicy {
  /** Prices by model id. Default: the price list. */
  readonly prices?: Readonly<Record<string, Price>> | undefined;
  /** `refuse`: a model without a known price is refused if cost is limited. `allow`: it costs nothing. */
  readonly unpriced?: "refuse" | "allow" | undefined;
  /**
   * A prompt without an upper bound (files, tools and conversations that the provider keeps) is refused where
   * anything is limited. `allow`: its size is guessed, and the limit is not hard any more.
   */
  readonly unbounded?: "refuse" | "allow" | undefined;
  /**
   * Provider options that may be sent under a limit although their cost is unknown: `provider.option`, or the field
   * name for `govern.fetch`. The limit is not hard for what they add. Default: none.
   */
  readonly allowOptions?: readonly string[] | undefined;
  /** Output tokens of calls that request no maximum. Default: 4,096. */
  readonly maxOutputTokens?: number | undefined;
  /** A call whose output would be limited below this is refused. Default: 16. */
  readonly minOutputTokens?: number | undefined;
}

/** Options of governed calls: rules, and a new account or an open one. */
export type GovernOptions = CallPolicy & (AccountOptions | { readonly account: SpendAccount });
