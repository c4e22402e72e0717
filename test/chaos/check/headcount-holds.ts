import type { History, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { treeOf } from "./reading.ts";

interface Change {
  readonly at: number;
  readonly run: string;
  readonly by: 1 | -1;
}

/**
 * I9: by provider and sink, no more runs of a tree ever have a call in flight than it may have agents; by the
 * ledger, no slot is left when all have ended.
 */
export const headcountHolds: Predicate = {
  id: "I9",
  claim: "calls in flight never show more agents than allowed, and no slot leaks",
  check: (history) => {
    const seen = peaks(history);
    return {
      cases: [...seen.values()].filter((peak) => peak > 1).length,
      of: "trees at work in parallel",
      findings: history.trees.flatMap((tree) => findings(tree, seen.get(tree.plan.id) ?? 0)),
      excused: [],
    };
  },
};

function findings({ plan, end, ledger }: TreeHistory, peak: number): readonly Finding[] {
  const found: Finding[] = [];
  const { maxAgents } = plan.spawn;
  if (peak > maxAgents) found.push({ where: plan.id, what: `${peak} runs at work, ${maxAgents} allowed` });
  if (end !== null && ledger.slots.length > 0)
    found.push({ where: plan.id, what: `ended, but holds ${ledger.slots.join(", ")}` });
  return found;
}

/** The most runs of each tree that had a call in flight at once. */
function peaks({ flight, effects }: History): ReadonlyMap<string, number> {
  const changes: Change[] = flight.flatMap(({ at, change, run }) =>
    run === null ? [] : [{ at, run, by: change === "start" ? 1 : -1 }],
  );
  for (const { run, startedAt, endedAt } of effects)
    changes.push({ at: startedAt, run, by: 1 }, { at: endedAt, run, by: -1 });
  // Two witnesses, one clock: what ends within a millisecond ends first.
  const sorted = changes.toSorted((one, other) => one.at - other.at || one.by - other.by);
  const open = new Map<string, Map<string, number>>();
  const most = new Map<string, number>();
  for (const { run, by } of sorted) {
    const tree = treeOf(run);
    const runs = open.get(tree) ?? new Map<string, number>();
    open.set(tree, runs);
    const calls = (runs.get(run) ?? 0) + by;
    if (calls === 0) runs.delete(run);
    else runs.set(run, calls);
    most.set(tree, Math.max(most.get(tree) ?? 0, runs.size));
  }
  return most;
}
