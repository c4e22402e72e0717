import { UserId } from "#kernel";
import type { BudgetOwner } from "#runtime";
import type { Principal } from "../auth.ts";
import { listedUser } from "../users.ts";
import { toJsonResponse, type Route, route } from "../route.ts";
import { dollars, refuseRequest, shape } from "../shape.ts";

const user = shape.optional(shape.id(UserId.of, "a user"));

/** Returns the key's tenant, or one of its users. @throws HttpError for a key without a tenant, or of another user. */
function toBudgetOwner(principal: Principal, owner: { readonly user?: UserId }): BudgetOwner {
  const { tenant } = principal;
  if (tenant === null) refuseRequest("key", "has no tenant: budgets belong to tenants and their users");
  const found = listedUser(principal, owner.user);
  return { tenant, ...(found !== undefined && { user: found }) };
}

export const budgetRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/budget",
    scope: "admin",
    forUsers: true,
    pool: "calls",
    summary: "The budget of the tenant, or of one of its users, and its use; null if there is none",
    query: shape.object({ user }),
    handle: async ({ host, principal, query }) =>
      toJsonResponse(await host.runtime.tenants.budget(toBudgetOwner(principal, query))),
  }),
  route({
    method: "post",
    path: "/budget",
    scope: "admin",
    summary: "Set what all trees of the tenant, or of one of its users, may spend in each period",
    body: shape.object({
      user,
      maxCostUsd: shape.optional(dollars),
      maxTokens: shape.optional(shape.integer()),
      per: shape.oneOf(["day", "month", "ever"]),
    }),
    handle: async ({ host, principal, body }) => {
      const { user: _, ...budget } = body;
      const owner = toBudgetOwner(principal, body);
      if (budget.maxCostUsd === undefined && budget.maxTokens === undefined)
        refuseRequest("body", "must have maxCostUsd or maxTokens");
      await host.runtime.tenants.setBudget(owner, budget, { by: principal.id });
      return toJsonResponse(await host.runtime.tenants.budget(owner));
    },
  }),
  route({
    method: "post",
    path: "/budget/remove",
    scope: "admin",
    summary: "Remove the budget of the tenant, or of one of its users",
    body: shape.object({ user }),
    handle: async ({ host, principal, body }) => {
      await host.runtime.tenants.setBudget(toBudgetOwner(principal, body), null, { by: principal.id });
      return toJsonResponse({});
    },
  }),
];
