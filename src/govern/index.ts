export type { CallPolicy, GovernOptions } from "./govern-options.ts";
export { govern } from "./govern.ts";
export type { GovernedFetch, GovernFetchOptions } from "./governed-fetch.ts";
export type { Governed } from "./governed-model.ts";
export type {
  AccountOptions,
  DoubtfulCall,
  GovernEvent,
  Spend,
  SpendAccount,
  SpendBudget,
} from "./spend-account.ts";
