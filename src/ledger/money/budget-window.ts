/** The period after which a budget starts over. */
export type BudgetPeriod = "day" | "month" | "ever";

const dayMs = 86_400_000;

/** Returns the window of a moment. Days and months are in UTC. */
export function budgetWindow(
  per: BudgetPeriod,
  at: number,
): { readonly from: number; readonly until: number | null } {
  if (per === "ever") return { from: at, until: null };
  if (per === "day") {
    const from = Math.floor(at / dayMs) * dayMs;
    return { from, until: from + dayMs };
  }
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { from: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
}
