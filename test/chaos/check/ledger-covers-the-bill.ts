import type { History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { amountsOf, billOf, markOf, only, sum } from "./reading.ts";

/** I5: a tree's booked amount is never less than its bill; and no call cost more than its reservation. */
export const ledgerCoversTheBill: Predicate = {
  id: "I5",
  claim: "settled + reserved + in doubt covers the bill",
  check: (history) => {
    const { bill, trees } = history;
    const booked = trees.map(({ ledger }) => sum([ledger.settled, ledger.reserved, ledger.inDoubt]));
    return {
      cases: bill.length,
      of: `calls, ${sum(booked).costMicros} micro-dollars booked`,
      findings: trees.flatMap((tree) => findings(history, tree)),
      excused: [],
    };
  },
};

function findings(history: History, tree: TreeHistory): readonly Finding[] {
  const { ledger, plan } = tree;
  const entries = billOf(history, plan.id);
  const bill = sum(entries.map(amountsOf));
  const booked = sum([ledger.settled, ledger.reserved, ledger.inDoubt]);
  const found: Finding[] = [];
  if (booked.tokens < bill.tokens || booked.costMicros < bill.costMicros)
    found.push({
      where: plan.id,
      what: `booked ${JSON.stringify(booked)}, billed ${JSON.stringify(bill)}`,
    });
  const ceilings = new Map(only(tree, "budget.reserved").map((event) => [String(event.attempt), event]));
  for (const entry of entries) {
    const ceiling = ceilings.get(markOf(entry).attempt);
    const { tokens, costMicros: cost } = amountsOf(entry);
    if (ceiling && (tokens > ceiling.tokens || cost > ceiling.costMicros))
      found.push({ where: String(entry.key), what: `reserved ${ceiling.tokens} tokens, billed ${tokens}` });
  }
  return found;
}
