import type { Predicate } from "./predicate.ts";

/** I15: every row of a tree belongs to its tenant, according to the database itself. */
export const tenantsApart: Predicate = {
  id: "I15",
  claim: "every row is its own tenant's",
  check: ({ rows, trees }) => {
    const tenantOf = new Map(trees.map(({ plan }) => [plan.id, plan.tenant]));
    const findings = rows.flatMap(({ table, tenant, tree, count }) => {
      const right = tenantOf.get(tree);
      return right === undefined || right === tenant
        ? []
        : [{ where: tree, what: `${count} rows of ${right} are ${tenant}'s in ${table}` }];
    });
    return { cases: rows.reduce((sum, { count }) => sum + count, 0), of: "rows", findings, excused: [] };
  },
};
