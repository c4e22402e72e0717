import type { NumberedEvent } from "reeve";
import type { BillEntry } from "reeve/testing";
import { price } from "../workload/price.ts";
import type { Amounts, History, TreeHistory } from "../history.ts";

/** The tree of a run's id. */
export const treeOf = (run: string): string => run.slice(0, run.indexOf("~"));

/** The bill of one tree, in the order of time. */
export function billOf({ bill }: Pick<History, "bill">, tree: string): readonly BillEntry[] {
  return (billsByTree.get(bill) ?? group(bill)).get(tree) ?? [];
}

const billsByTree = new WeakMap<readonly BillEntry[], ReadonlyMap<string, readonly BillEntry[]>>();

function group(bill: readonly BillEntry[]): ReadonlyMap<string, readonly BillEntry[]> {
  const sorted = bill.toSorted((one, other) => one.at - other.at);
  const groups = Map.groupBy(sorted, ({ run }) => treeOf(run ?? ""));
  billsByTree.set(bill, groups);
  return groups;
}

/** The mark of a bill entry. */
interface CallMark {
  readonly step: string;
  readonly attempt: string;
  /** The execution and the process that made the call. */
  readonly epoch: string;
  readonly pid: number;
}

export function markOf({ key }: BillEntry): CallMark {
  const [step = "null", attempt = "null", epoch = "null", pid] = (key ?? "").split(" ");
  return { step, attempt, epoch, pid: Number(pid) };
}

/** Returns the cost of a bill entry. Deliberately does not use the code under test. */
export function amountsOf({ billed, inputTokens, outputTokens, cachedTokens }: BillEntry): Amounts {
  if (!billed) return { tokens: 0, costMicros: 0 };
  const fresh = BigInt(inputTokens - cachedTokens) * BigInt(price.input);
  const cached = BigInt(cachedTokens) * BigInt(price.cachedInput ?? price.input);
  const micros = fresh + cached + BigInt(outputTokens) * BigInt(price.output);
  return { tokens: inputTokens + outputTokens, costMicros: Number((micros + 999_999n) / 1_000_000n) };
}

/** Whether a record of a step is no result: the step is made again, under the same name. */
export const isRetry = (record: string | null): boolean => record !== null && retries.has(record);

const retries: ReadonlySet<string> = new Set([
  "interrupted",
  "paused",
  "later",
  "budget",
  "ask",
  "in-doubt",
  "retryAt",
]);

/** Tokens and money of several. */
export function sum(amounts: readonly Amounts[]): Amounts {
  return amounts.reduce<Amounts>(
    (total, { tokens, costMicros: cost }) => ({
      tokens: total.tokens + tokens,
      costMicros: total.costMicros + cost,
    }),
    { tokens: 0, costMicros: 0 },
  );
}

/** The events of one type. */
export function only<Type extends NumberedEvent["type"]>(
  { events }: TreeHistory,
  type: Type,
): readonly Extract<NumberedEvent, { readonly type: Type }>[] {
  return events.filter(
    (event): event is Extract<NumberedEvent, { readonly type: Type }> => event.type === type,
  );
}

/** Returns a run and its descendants, by the events. */
export function subtreeOf(tree: TreeHistory, root: string): ReadonlySet<string> {
  const below = new Set([root]);
  for (const { child, runId } of [...only(tree, "spawn.admitted"), ...only(tree, "spawn.queued")])
    if (below.has(runId)) below.add(child);
  return below;
}
