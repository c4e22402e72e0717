import type { LimitMet } from "#kernel";
import { Amounts } from "./amounts.ts";
import type { ClosedLease, DecisionResult } from "../command.ts";
import { Draft } from "../draft.ts";
import type { TreeLease, LedgerState } from "../state.ts";
import { type LeaseGrant, noLimits } from "./tenant.ts";

/** The lease of a tree with a tenant before it has borrowed. The tree requests one before its next model call. */
export const noLease: TreeLease = Object.freeze({
  tokens: 0,
  costMicros: 0,
  limits: noLimits,
  leasedAt: 0,
  until: 0,
  used: Amounts.none,
});

/** Adds a grant of the tenant to the lease, or replaces the lease. */
export function grantQuota(state: LedgerState, grant: LeaseGrant): DecisionResult<null> {
  const draft = new Draft(state);
  const { lease } = draft.tree;
  if (!lease) return draft.toResult(null);
  const { leasedAt, until, limits } = grant;
  const next = grant.adds
    ? {
        tokens: raiseCap(grant.tokens, lease.tokens ?? lease.used.tokens),
        costMicros: raiseCap(grant.costMicros, lease.costMicros ?? lease.used.costMicros),
        used: lease.used,
      }
    : { tokens: grant.tokens, costMicros: grant.costMicros, used: Amounts.none };
  draft.tree = { ...draft.tree, lease: { ...next, limits, leasedAt, until } };
  return draft.toResult(null);
}

/** Closes the lease of the tree. The decision holds the used part. Null: there is no lease, or it is not counted. */
export function returnQuota(state: LedgerState): DecisionResult<ClosedLease | null> {
  const draft = new Draft(state);
  const { lease } = draft.tree;
  if (!lease || lease.leasedAt === 0) return draft.toResult(null);
  const { leasedAt, used } = lease;
  draft.tree = { ...draft.tree, lease: noLease };
  return draft.toResult({ leasedAt, used });
}

/** Returns the unused part of the lease. The tree keeps the rest for calls in flight. */
export function shrink(state: LedgerState): DecisionResult<ClosedLease | null> {
  const draft = new Draft(state);
  const { lease } = draft.tree;
  if (!lease || lease.leasedAt === 0) return draft.toResult(null);
  const { leasedAt, used } = lease;
  const tokens = lease.tokens === null ? null : Math.min(lease.tokens, used.tokens);
  const costMicros = lease.costMicros === null ? null : Math.min(lease.costMicros, used.costMicros);
  draft.tree = { ...draft.tree, lease: { ...lease, tokens, costMicros } };
  return draft.toResult({ leasedAt, used });
}

/** Returns the budget of tenant or user that limits a tree, with the tree's use of it. Null: none. */
export function leaseLimit({ limits, used }: TreeLease, dimension: "tokens" | "cost"): LimitMet | null {
  const field = dimension === "tokens" ? "tokens" : "costMicros";
  const budget = limits[field];
  if (!budget) return null;
  const { account, limit, spent, reserved } = budget;
  return {
    dimension,
    account,
    owner: null,
    limit,
    used: spent + reserved + used[field],
    reserved,
    inDoubt: 0,
  };
}

/** Returns the lease under which a call is reserved now. Undefined: none that is counted. */
export function currentLease({ tree: { lease } }: Draft): number | undefined {
  return lease && lease.leasedAt !== 0 ? lease.leasedAt : undefined;
}

/** Counts the cost of a call in the lease it was reserved under. If that lease is closed, the tenant corrects it. */
export function chargeLease(draft: Draft, leasedAt: number | undefined, more: Amounts): void {
  const { lease } = draft.tree;
  if (leasedAt === undefined || !lease) return;
  if (lease.leasedAt === leasedAt)
    draft.tree = { ...draft.tree, lease: { ...lease, used: Amounts.add(lease.used, more) } };
  else if (more.tokens !== 0 || more.costMicros !== 0)
    draft.effects.push({ kind: "correct", leasedAt, ...more });
}

const raiseCap = (by: number | null, from: number): number | null => (by === null ? null : from + by);
