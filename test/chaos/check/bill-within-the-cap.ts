import { Money } from "#kernel";
import type { History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { amountsOf, billOf } from "./reading.ts";

/** I7: at no moment has the provider billed a tree more than its cap. */
export const billWithinTheCap: Predicate = {
  id: "I7",
  claim: "the bill is within the cap at every moment",
  check: (history) => ({
    cases: history.trees.filter(({ plan }) => Object.keys(plan.budget).length > 0).length,
    of: "trees with a cap",
    findings: history.trees.flatMap((tree) => findings(history, tree)),
    excused: [],
  }),
};

function findings(history: History, { plan }: TreeHistory): readonly Finding[] {
  const { maxTokens = Infinity, maxCostUsd } = plan.budget;
  const maxCost = maxCostUsd === undefined ? Infinity : Money.cap(maxCostUsd);
  let tokens = 0;
  let cost = 0;
  for (const entry of billOf(history, plan.id)) {
    const amounts = amountsOf(entry);
    tokens += amounts.tokens;
    cost += amounts.costMicros;
    if (tokens > maxTokens || cost > maxCost)
      return [
        {
          where: plan.id,
          what: `billed ${tokens} tokens, ${cost} micro-dollars; cap ${maxTokens}, ${maxCost}`,
        },
      ];
  }
  return [];
}
