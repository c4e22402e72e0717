import { appendFileSync } from "node:fs";
import type { Micros, Price } from "#kernel";
import type { BilledWire } from "./provider-request.ts";
import type { FaultKind } from "./fault.ts";

/** One request to the fake provider. Tokens are zero if nothing is billed. */
export interface BillEntry {
  /** When the request arrived. */
  readonly at: number;
  readonly wire: BilledWire;
  readonly model: string;
  /** The header `x-reeve-attempt`. */
  readonly key: string | null;
  /** The header `x-reeve-run`. */
  readonly run: string | null;
  /** Including cached, cache-written and hidden tokens. */
  readonly inputTokens: number;
  /** Including reasoning. */
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Written to the prompt cache. */
  readonly writtenTokens: number;
  readonly reasoningTokens: number;
  /** Number and bytes of the files in the request, even if it is not billed. */
  readonly files: number;
  readonly fileBytes: number;
  /** Tokens that the fake provider added around the messages. */
  readonly hiddenTokens: number;
  readonly billed: boolean;
  /**
   * The intended outcome, whether or not the client received it. `unanswered`: the provider was closed before the
   * script had answered.
   */
  readonly outcome: "answered" | "invalid-request" | "script-failed" | "unanswered" | FaultKind;
  readonly streamed: boolean;
}

/** Sums over a bill. */
export interface BillTotal {
  /** Number of all requests, and of those that were billed. */
  readonly requests: number;
  readonly billed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly files: number;
  readonly fileBytes: number;
}

/** A filter for entries. */
export type BillFilter = (entry: BillEntry) => boolean;

/** The double's own record of every request. Entries are only ever added, and never changed. */
export interface Bill {
  readonly entries: readonly BillEntry[];
  /** Default: over all entries. */
  total(filter?: BillFilter): BillTotal;
  /** Returns the cost of the calls, each rounded up to a whole micro-dollar. Every billed model needs a price. */
  costMicros(prices: Readonly<Record<string, Price>>, filter?: BillFilter): Micros;
}

/** The bill as the double writes it. */
export class BillBook implements Bill {
  readonly #entries: BillEntry[] = [];
  readonly #file: string | undefined;

  /** Every entry is also a line of `file`, written before the answer is sent. */
  constructor(options: { readonly file?: string | undefined }) {
    this.#file = options.file;
  }

  get entries(): readonly BillEntry[] {
    return [...this.#entries];
  }

  append(entry: BillEntry): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.#entries.push(Object.freeze({ ...entry }));
  }

  total(filter: BillFilter = () => true): BillTotal {
    const entries = this.#entries.filter(filter);
    const sum = (count: (entry: BillEntry) => number): number =>
      entries.reduce((total, entry) => total + count(entry), 0);
    return {
      requests: entries.length,
      billed: entries.filter(({ billed }) => billed).length,
      inputTokens: sum(({ inputTokens }) => inputTokens),
      outputTokens: sum(({ outputTokens }) => outputTokens),
      cachedTokens: sum(({ cachedTokens }) => cachedTokens),
      writtenTokens: sum(({ writtenTokens }) => writtenTokens),
      files: sum(({ files }) => files),
      fileBytes: sum(({ fileBytes }) => fileBytes),
    };
  }

  costMicros(prices: Readonly<Record<string, Price>>, filter: BillFilter = () => true): Micros {
    let total = 0;
    for (const entry of this.#entries) {
      if (!entry.billed || !filter(entry)) continue;
      const price = prices[entry.model];
      if (!price) throw new Error(`no price for ${entry.model}, which is on the bill`);
      total += callCost(entry, price);
    }
    return total;
  }
}

/** Does not use the kernel's arithmetic on purpose: an independent check must not share its bugs. */
function callCost(entry: BillEntry, price: Price): Micros {
  const reached = (price.tiers ?? []).filter((tier) => entry.inputTokens > tier.aboveInputTokens);
  reached.sort((one, other) => other.aboveInputTokens - one.aboveInputTokens);
  const { input, output, cachedInput = input, cacheWrite = input } = reached[0] ?? price;
  const micros =
    amount(entry.inputTokens - entry.cachedTokens - entry.writtenTokens, input) +
    amount(entry.cachedTokens, cachedInput) +
    amount(entry.writtenTokens, cacheWrite) +
    amount(entry.outputTokens, output);
  return Number((micros + 999_999n) / 1_000_000n) + (price.request ?? 0);
}

function amount(tokens: number, perMillion: Micros): bigint {
  return BigInt(tokens) * BigInt(perMillion);
}
