import type { Client, Played } from "../client.ts";
import { amountsOf, billOf, markOf, sum } from "../check/reading.ts";
import type { Amounts, History } from "../history.ts";

/** The amounts in doubt, and what remains after the ledger received the provider's bill. */
export interface Reconciled {
  readonly billed: Amounts;
  readonly before: { readonly settled: Amounts; readonly inDoubt: Amounts };
  readonly after: { readonly settled: Amounts; readonly inDoubt: Amounts };
}

/** Reports the provider's bill of every attempt to the ledgers. Attempts not in doubt remain unchanged. */
export async function reconcileAll(
  client: Client,
  history: Pick<History, "bill">,
  played: readonly Played[],
): Promise<Reconciled> {
  const ledgers = async (): Promise<Reconciled["before"]> => {
    const all = await Promise.all(played.map(async (tree) => (await client.history(tree)).ledger));
    return {
      settled: sum(all.map(({ settled }) => settled)),
      inDoubt: sum(all.map(({ inDoubt, reserved }) => sum([inDoubt, reserved]))),
    };
  };
  const before = await ledgers();
  const entries = played.flatMap((tree) => billOf(history, tree.plan.id).map((entry) => ({ tree, entry })));
  for (const { tree, entry } of entries) {
    const { billed, inputTokens, outputTokens, cachedTokens } = entry;
    const used = { input: inputTokens, output: outputTokens, cachedInput: cachedTokens };
    await client.reconcile(tree, markOf(entry).attempt, billed ? used : { input: 0, output: 0 });
  }
  return { billed: sum(entries.map(({ entry }) => amountsOf(entry))), before, after: await ledgers() };
}
