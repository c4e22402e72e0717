import type { History, TreeHistory } from "../history.ts";
import { only } from "./reading.ts";

/** How a tree met its cap: a call was refused, or allowed less than it asked for. Null: it never did. */
export function boundBy(tree: TreeHistory): "denied" | "landed" | null {
  const denied = only(tree, "budget.denied").some(({ dimension }) => dimension !== "agents");
  if (denied) return "denied";
  return only(tree, "run.end").some(({ status }) => status === "landed") ? "landed" : null;
}

/** Did all slots of a tree ever stand occupied? */
export function isFull(tree: TreeHistory): boolean {
  const live = new Set<string>();
  for (const event of tree.events) {
    if (event.type === "run.start" || event.type === "run.resumed") live.add(event.runId);
    if (event.type === "run.end" || event.type === "run.paused") live.delete(event.runId);
    if (live.size >= tree.plan.spawn.maxAgents) return true;
  }
  return tree.events.some(({ type }) => type === "spawn.queued" || type === "spawn.denied");
}

/** How much of what is booked is only feared. */
export function pessimism({ trees }: History): { readonly inDoubt: number; readonly spend: number } {
  const sum = (part: (tree: TreeHistory) => number): number =>
    trees.reduce((total, tree) => total + part(tree), 0);
  const inDoubt = sum(({ ledger }) => ledger.inDoubt.costMicros);
  return { inDoubt, spend: inDoubt + sum(({ ledger }) => ledger.settled.costMicros) };
}
