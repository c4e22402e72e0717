import { appendFileSync } from "node:fs";
import type { Micros, Price } from "#kernel";
import type { BilledWire } from "./double-request.ts";
import type { FaultKind } from "./fault.ts";

/** One request that the double was sent. Tokens are zero where nothing is billed. */
export interface BillEntry {
  /** When the request arrived. */
  readonly at: number;
  readonly wire: BilledWire;
  readonly model: string;
  /** The header `x-reeve-attempt`. */
  readonly key: string | null;
  /** The header `x-reeve-run`. */
  readonly run: string | null;
  /** With cached, written and hidden tokens. */
  readonly inputTokens: number;
  /** With reasoning. */
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Written to the prompt cache. */
  readonly writtenTokens: number;
  readonly reasoningTokens: number;
  /** Files whose bytes were in the request, and those bytes. Also of requests that are not billed. */
  readonly files: number;
  readonly fileBytes: number;
  /** What the double put around the messages. */
  readonly hiddenTokens: number;
  readonly billed: boolean;
  /**
   * What the double set out to do, whether or not anybody received it. `unanswered`: it was closed before the script
   * had answered.
   */
  readonly outcome: "answered" | "invalid-request" | "script-failed" | "unanswered" | FaultKind;
  readonly streamed: boolean;
}

/** Sums over a bill. */
export interface BillTotal {
  /** All requests, and those of them that cost something. */
  readonly requests: number;
  readonly billed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly files: number;
  readonly fileBytes: number;
}

/** Which entries count. */
export type BillFilter = (entry: BillEntry) => boolean;

/** The double's own record of every request. Entries are only ever added, and never changed. */
export interface Bill {
  readonly entries: readonly BillEntry[];
  /** Default: over all entries. */
  total(filter?: BillFilter): BillTotal;
  /** What the calls cost, each rounded up to a whole micro-dollar. Every billed model needs a price. */
  costMicros(prices: Readonly<Record<string, Price>>, filter?: BillFilter): Micros;
}

/** The bill as the double writes it. */
export class BillBook implements Bill {
  readonly #entries: BillEntry[] = [];
  readonly #file: string | undefined;

  /** Every entry is also a line of `file`, written before the answer leaves. */
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

/** On purpose not the kernel's arithmetic: a witness that counts with the same code sees the same mistake. */
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
