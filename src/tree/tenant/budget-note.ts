import type { SetBudgetArgument } from "./tenant-protocol.ts";
import type { AuditKind, AuditNote } from "#audit";

/** Returns the audit entry for a budget that was set or removed. */
export function budgetNote({ user, limits, by, operationId }: SetBudgetArgument, at: number): AuditNote {
  const kind: AuditKind = "budget";
  const decision = limits ? "set" : "removed";
  return { at, kind, data: { decision, user, by, ...limits }, source: `budget/${operationId}` };
}
