import { auditOf } from "../../../src/audit/audit-of.ts";
import type { TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";

/** I12: every tenant's chain is intact, and contains each decision of its trees once. */
export const auditIsWhole: Predicate = {
  id: "I12",
  claim: "the audit is one whole chain, with every decision once",
  check: ({ audits, trees }) => ({
    cases: audits.flatMap(({ sources }) => sources).length,
    of: `links of ${audits.length} tenants`,
    findings: [
      ...audits.flatMap(({ tenant, fault }) => (fault === null ? [] : [{ where: tenant, what: fault }])),
      ...audits.flatMap(({ tenant, sources }) => {
        const theirs = trees.filter(({ plan, end }) => plan.tenant === tenant && end !== null);
        return theirs.flatMap((tree) => findUnaudited(tree, sources));
      }),
    ],
    excused: [],
  }),
};

function findUnaudited({ plan, events }: TreeHistory, sources: readonly string[]): readonly Finding[] {
  const times = Map.groupBy(sources, (source) => source);
  return events.flatMap((event) => {
    const note = auditOf(event);
    const found = note === null ? 1 : (times.get(note.source)?.length ?? 0);
    return found === 1
      ? []
      : [{ where: plan.id, what: `${event.type}, number ${event.seq}, is in the audit ${found} times` }];
  });
}
