import type { TenantBudget, TenantBudgetView } from "#runtime";
import { formatCount, usd } from "#view";
import { ExitCode } from "../exit-code.ts";
import { type Context, printLines, sayJson } from "./command.ts";

/** Shows the budget of the key's tenant, or of one of its users. */
export async function showBudget(context: Context, user?: string): Promise<number> {
  return showBudgetView(context, await context.client.budget(user));
}

/** Sets a budget, and shows how much of it is used. */
export async function setBudget(
  context: Context,
  budget: TenantBudget & { readonly user?: string },
): Promise<number> {
  return showBudgetView(context, await context.client.setBudget(budget));
}

/** Removes it. */
export async function removeBudget(context: Context, user?: string): Promise<number> {
  await context.client.removeBudget(user);
  return showBudgetView(context, null);
}

function showBudgetView(context: Context, budget: TenantBudgetView | null): number {
  if (context.json) sayJson(context, { budget });
  else printLines(context, budget ? budgetLines(budget) : ["no budget (unlimited)"]);
  return ExitCode.ok;
}

function budgetLines(budget: TenantBudgetView): readonly string[] {
  const { maxCostMicros, maxTokens, spent, lent, per, until } = budget;
  const line = (limit: string, used: string, held: string): string =>
    `${limit} ${per === "ever" ? "in total" : `per ${per}`}: ${used} spent, ${held} held by live trees`;
  return [
    ...(maxCostMicros === null
      ? []
      : [line(usd(maxCostMicros), usd(spent.costMicros), usd(lent.costMicros))]),
    ...(maxTokens === null
      ? []
      : [line(`${formatCount(maxTokens)} tokens`, formatCount(spent.tokens), formatCount(lent.tokens))]),
    ...(until === null ? [] : [`resets at ${new Date(until).toISOString()}`]),
  ];
}
