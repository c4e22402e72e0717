import type { Price } from "#kernel";

/** What every model of a campaign costs. */
export const price: Price = { input: 1_000_000, output: 4_000_000 };
