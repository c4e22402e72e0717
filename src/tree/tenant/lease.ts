import { Json, type ObjectAddress } from "#kernel";
import { Ledger, type Amounts, type QuotaResult, type LedgerEffect } from "#ledger";
import { tenantAddress, type QuotaArgument, type ReturnArgument } from "./tenant-protocol.ts";
import type { TreeWork } from "../state/tree-work.ts";

/*
 * The tree's side of its tenant's budgets: it borrows by leases, and closes them. Loans and returns are calls, so they
 * reach the tenant in the order in which the tree makes them. Corrections commute, so they are sent as messages.
 */

/** Returns the address of the tenant's budgets. Null: the tree has no tenant. */
function tenantOf({ tree: { scope } }: TreeWork): ObjectAddress | null {
  return scope.tenantId === null ? null : tenantAddress(scope.tenantId);
}

const whoseOf = ({ tree: { treeId, scope } }: TreeWork): Pick<QuotaArgument, "tree" | "user"> => ({
  tree: treeId,
  user: scope.userId,
});

/**
 * Borrows the amount that a call of this tree needs. `short`: other trees hold it, and are asked to return their unused
 * part.
 */
export function requestLease(
  work: TreeWork,
  need: Amounts,
  { mayWait }: Pick<QuotaArgument, "mayWait">,
): QuotaResult {
  const tenant = tenantOf(work);
  const lease = work.tree.ledger.lease ?? Ledger.noLease;
  if (!tenant) return { ...lease, adds: false };
  const { tokens, costMicros } = need;
  const renews = work.now >= lease.until;
  const argument: QuotaArgument = { ...whoseOf(work), tokens, costMicros, used: lease.used, renews, mayWait };
  const granted = Json.as<QuotaResult>(work.object.call(tenant, "requestQuota", Json.of(argument)));
  if (granted === "short") work.decide(work.root, Ledger.returnQuota);
  return granted;
}

/** Closes the tree's lease. Its unused part is available to other trees. */
export function closeLease(work: TreeWork): void {
  giveUp(work, "returnQuota");
}

/** Closes the lease of a tree without model calls in flight, because it may wait for long. */
export function closeIdleLease(work: TreeWork): void {
  if (isIdle(work)) closeLease(work);
}

/** Returns the unused part of the lease, because another tree needs it. */
export function recall(work: TreeWork): null {
  giveUp(work, isIdle(work) ? "returnQuota" : "shrink");
  return null;
}

function giveUp(work: TreeWork, how: "returnQuota" | "shrink"): void {
  const tenant = tenantOf(work);
  const told = tenant && work.decide(work.root, Ledger[how]);
  if (!tenant || !told) return;
  const argument: ReturnArgument = { ...whoseOf(work), ...told };
  work.object.call(tenant, how, Json.of(argument));
}

function isIdle({ tree }: TreeWork): boolean {
  const { tokens, costMicros } = tree.ledger.account.reserved;
  return tokens === 0 && costMicros === 0;
}

/** Reports the real cost of a call of a closed lease to the tenant. */
export function correctLease(
  work: TreeWork,
  effect: Extract<LedgerEffect, { readonly kind: "correct" }>,
): void {
  const tenant = tenantOf(work);
  const { leasedAt, tokens, costMicros } = effect;
  const argument: ReturnArgument = { ...whoseOf(work), leasedAt, used: { tokens, costMicros } };
  if (tenant) work.object.send(tenant, "correct", Json.of(argument));
}
