import { type Micros, type Price, type RunId, Usage } from "#kernel";
import type { AgentView, TreeView } from "./agent-view.ts";

/** Money of one account in its four parts: spent, reserved, in doubt, free. */
export interface SpendView {
  /** Without the part in doubt. */
  readonly settledMicros: Micros;
  readonly reservedMicros: Micros;
  readonly inDoubtMicros: Micros;
  /** Null: no limit, or unknown. */
  readonly maxCostMicros: Micros | null;
  /** Null: no limit. Never negative. */
  readonly freeMicros: Micros | null;
}

/** An account that a call of a run is charged to. */
export interface AccountView extends SpendView {
  readonly kind: "run" | "parent" | "tree";
  /** Null: the tree's. */
  readonly runId: RunId | null;
  /** Whether it has less left than every other account in the list. */
  readonly isTightest: boolean;
}

/** Returns the money of a run and all below it, against the limit of its account; a root's also against the tree's. */
export function spendOf(
  { costMicros, inDoubtMicros, reservedMicros, limits, parentRunId }: AgentView,
  tree: Pick<TreeView, "limits"> | null = null,
): SpendView {
  const shared = parentRunId === null ? (tree?.limits?.maxCostMicros ?? null) : null;
  const own = limits?.maxCostMicros ?? null;
  const maxCostMicros = own === null || shared === null ? (own ?? shared) : Math.min(own, shared);
  const settledMicros = costMicros - inDoubtMicros;
  const freeMicros = maxCostMicros === null ? null : Math.max(0, maxCostMicros - costMicros - reservedMicros);
  return { settledMicros, reservedMicros, inDoubtMicros, maxCostMicros, freeMicros };
}

/** Returns the cost of a call that used so many tokens; null: no call can have used them. Without a price it is 0. */
export function costOfUsage(usage: Usage, price: Price | null): Micros | null {
  if (!Usage.isSane(usage)) return null;
  return price === null ? 0 : Usage.cost(usage, price);
}

/** The nearness of an account to its limit. */
export type SpendLevel = "normal" | "high" | "full";

/** Returns how close spent money is to its limit: `high` from 70 %, `full` from 90 %. */
export function spendLevel(spent: Micros, limit: Micros): SpendLevel {
  if (spent >= limit * 0.9) return "full";
  return spent >= limit * 0.7 ? "high" : "normal";
}

/** Returns the accounts that a call of a run is charged to: its own, those of its ancestors, and the tree's. */
export function accountsOf({ root, limits }: TreeView, run: RunId): readonly AccountView[] {
  const path = pathTo(root, run).toReversed();
  const own = path.map((agent) => ({
    ...spendOf(agent),
    kind: agent.runId === run ? ("run" as const) : ("parent" as const),
    runId: agent.runId,
  }));
  const tree = {
    ...spendOf({ ...root, limits: null }, { limits }),
    kind: "tree" as const,
    runId: null,
  };
  const all = path.length === 0 ? [] : [...own, tree];
  const least = Math.min(...all.map(({ freeMicros }) => freeMicros ?? Infinity));
  const tightest = all.findIndex(({ freeMicros }) => freeMicros !== null && freeMicros === least);
  return all.map((account, index) => Object.assign(account, { isTightest: index === tightest }));
}

/** Returns the runs from the root to a run. Empty if the run is unknown. */
function pathTo(from: AgentView, run: RunId): readonly AgentView[] {
  if (from.runId === run) return [from];
  for (const child of from.children) {
    const below = pathTo(child, run);
    if (below.length > 0) return [from, ...below];
  }
  return [];
}
