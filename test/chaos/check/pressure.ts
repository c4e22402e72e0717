import type { History, TreeHistory } from "../history.ts";
import { only } from "./reading.ts";

/** Returns how a tree met its cap: a call was refused, or granted less than requested. Null: it never did. */
export function boundBy(tree: TreeHistory): "denied" | "landed" | null {
  const denied = only(tree, "budget.denied").some(({ dimension }) => dimension !== "agents");
  if (denied) return "denied";
  return only(tree, "run.end").some(({ status }) => status === "landed") ? "landed" : null;
}

/** Whether all slots of a tree were ever occupied. */
export function isFull(tree: TreeHistory): boolean {
  const live = new Set<string>();
  for (const event of tree.events) {
    if (event.type === "run.start" || event.type === "run.resumed") live.add(event.runId);
    if (event.type === "run.end" || event.type === "run.paused") live.delete(event.runId);
    if (live.size >= tree.plan.spawn.maxAgents) return true;
  }
  return tree.events.some(({ type }) => type === "spawn.queued" || type === "spawn.denied");
}

/** Returns the share of booked amounts that is in doubt. */
export function pessimism({ trees }: History): { readonly inDoubt: number; readonly spend: number } {
  const sum = (part: (tree: TreeHistory) => number): number =>
    trees.reduce((total, tree) => total + part(tree), 0);
  const inDoubt = sum(({ ledger }) => ledger.inDoubt.costMicros);
  return { inDoubt, spend: inDoubt + sum(({ ledger }) => ledger.settled.costMicros) };
}
