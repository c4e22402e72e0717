import type { TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { only } from "./reading.ts";

/** I1: from the events, from the store's list, and from asking twice. */
export const everyRunEndsOnce: Predicate = {
  id: "I1",
  claim: "every accepted run has exactly one end",
  check: ({ trees }) => ({
    cases: trees.flatMap(({ runs }) => runs).length,
    of: `runs of ${trees.length} trees`,
    findings: trees.flatMap(findings),
    excused: [],
  }),
};

const ends: ReadonlySet<string> = new Set(["completed", "landed", "failed", "cancelled"]);

function findings(tree: TreeHistory): readonly Finding[] {
  const { plan, end, endAgain, runs, ledger } = tree;
  const where = plan.id;
  if (end === null) return [{ where, what: `lost or stuck; still there: ${ledger.slots.join(", ")}` }];
  const found: Finding[] = [];
  if (end.status !== endAgain?.status)
    found.push({ where, what: `ended ${end.status}, later ${endAgain?.status}` });
  const told = Map.groupBy(only(tree, "run.end"), ({ runId }) => runId);
  const begun = new Set([
    ...only(tree, "run.start").map(({ runId }) => runId),
    ...only(tree, "spawn.admitted").map(({ child }) => child),
    ...only(tree, "spawn.queued").map(({ child }) => child),
  ]);
  for (const run of new Set([...begun, ...told.keys()])) {
    const heard = (told.get(run) ?? []).map(({ status }) => status);
    const listed = runs.find(({ runId }) => runId === run)?.status ?? "not listed";
    if (heard.length !== 1) found.push({ where: run, what: `has ${heard.length} ends: ${heard.join(", ")}` });
    else if (listed !== heard[0] || !ends.has(listed))
      found.push({ where: run, what: `ended ${heard[0]}, listed as ${listed}` });
  }
  return found;
}
