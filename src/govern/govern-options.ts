import type { Price } from "#kernel";
import type { AccountOptions, SpendAccount } from "./spend-account.ts";

/** How calls are governed, whoever makes them. */
export interface CallPolicy {
  /** What models cost, by id. Default: from the price list. */
  readonly prices?: Readonly<Record<string, Price>> | undefined;
  /** A model without a known price is refused where its cost is limited. `allow`: it costs nothing. */
  readonly unpriced?: "refuse" | "allow" | undefined;
  /**
   * A prompt without an upper bound (files, tools and conversations that the provider keeps) is refused where
   * anything is limited. `allow`: its size is guessed, and the limit is not hard any more.
   */
  readonly unbounded?: "refuse" | "allow" | undefined;
  /**
   * Provider options that may be sent under a limit although their cost is not known: `provider.option`, or the name of
   * the field for `govern.fetch`. The limit is not hard for what they add. Default: none.
   */
  readonly allowOptions?: readonly string[] | undefined;
  /** What is asked for by calls that do not say how much they want. Default 4,096. */
  readonly maxOutputTokens?: number | undefined;
  /** A call that may say less than this is refused. Default 16. */
  readonly minOutputTokens?: number | undefined;
}

/** How calls are governed: on an account of their own, or on one that was opened before. */
export type GovernOptions = CallPolicy & (AccountOptions | { readonly account: SpendAccount });
