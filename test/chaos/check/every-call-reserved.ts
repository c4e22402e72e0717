import type { History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { billOf, markOf, only } from "./reading.ts";

/** I4: each billed call is a separate attempt, reserved by the tree before it was made. */
export const everyCallReserved: Predicate = {
  id: "I4",
  claim: "every call on the bill was reserved before",
  check: (history) => ({
    cases: history.bill.length,
    of: "calls",
    findings: [
      ...history.bill
        .filter(({ run }) => run === null || !history.trees.some(({ plan }) => run.startsWith(`${plan.id}~`)))
        .map(({ run }) => ({ where: String(run), what: "a call without a run" })),
      ...history.trees.flatMap((tree) => findings(history, tree)),
    ],
    excused: [],
  }),
};

function findings(history: History, tree: TreeHistory): readonly Finding[] {
  const reserved = new Map(only(tree, "budget.reserved").map(({ attempt, at }) => [String(attempt), at]));
  const made = new Set<string>();
  return billOf(history, tree.plan.id).flatMap((entry) => {
    const { attempt } = markOf(entry);
    const at = reserved.get(attempt);
    const isSecond = made.has(attempt);
    made.add(attempt);
    const where = String(entry.key);
    if (at === undefined) return [{ where, what: "never reserved" }];
    if (at > entry.at) return [{ where, what: `reserved ${at - entry.at} ms after the call` }];
    return isSecond ? [{ where, what: "one reservation for two calls" }] : [];
  });
}
