import type { History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { amountsOf, billOf, markOf, only, sum } from "./reading.ts";

/** I6: per attempt and in sum, the settled amounts equal the provider's bill, in tokens and cost. */
export const settledEqualsTheBill: Predicate = {
  id: "I6",
  claim: "what is settled equals the bill, in tokens and money",
  check: (history) => {
    const { trees } = history;
    return {
      cases: trees.flatMap((tree) => only(tree, "budget.settled")).length,
      of: `settlements, ${sum(trees.map(({ ledger }) => ledger.settled)).costMicros} micro-dollars settled`,
      findings: trees.flatMap((tree) => findings(history, tree)),
      excused: [],
    };
  },
};

function findings(history: History, tree: TreeHistory): readonly Finding[] {
  const { plan, ledger } = tree;
  const billed = new Map(
    billOf(history, plan.id).map((entry) => [markOf(entry).attempt, amountsOf(entry)] as const),
  );
  const found: Finding[] = [];
  const settled = only(tree, "budget.settled").filter(({ inDoubt }) => !inDoubt);
  for (const { attempt, tokens, costMicros: cost } of settled) {
    // A call that never reached the provider cost nothing.
    const bill = billed.get(String(attempt)) ?? { tokens: 0, costMicros: 0 };
    if (bill.tokens !== tokens || bill.costMicros !== cost)
      found.push({
        where: String(attempt),
        what: `settled ${tokens} tokens, ${cost} micro-dollars; billed ${bill.tokens}, ${bill.costMicros}`,
      });
  }
  const total = sum(settled);
  if (total.tokens !== ledger.settled.tokens || total.costMicros !== ledger.settled.costMicros)
    found.push({
      where: plan.id,
      what: `events settle ${JSON.stringify(total)}, the ledger ${JSON.stringify(ledger.settled)}`,
    });
  return found;
}
