import type { Price } from "#kernel";

/** The price of every model of a campaign. */
export const price: Price = { input: 1_000_000, output: 4_000_000 };
