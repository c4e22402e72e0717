import { Partition, type ObjectAddress, type TenantId, type TreeId, type UserId } from "#kernel";
import type { BudgetLimits, ClosedLease, QuotaRequest } from "#ledger";

/** The argument of a quota request. */
export interface QuotaArgument extends Omit<QuotaRequest, "at"> {
  readonly tree: TreeId;
  readonly user: UserId | null;
}

/** The argument that closes or reduces a lease, or corrects the use of a closed one. */
export interface ReturnArgument extends ClosedLease {
  readonly tree: TreeId;
  readonly user: UserId | null;
}

/** The argument that sets a budget. */
export interface SetBudgetArgument {
  /** Null: the tenant's own. */
  readonly user: UserId | null;
  /** Null: no budget. */
  readonly limits: BudgetLimits | null;
  /** The caller, for the audit. */
  readonly by: string | null;
  /** Names the change in the audit. */
  readonly operationId: string;
}

/** The type of the objects that hold the budgets of tenants. */
export const tenantType = "tenant";

/** Returns the address of a tenant's budgets. */
export const tenantAddress = (tenantId: TenantId): ObjectAddress => ({
  type: tenantType,
  key: Partition.key({ tenantId }),
});
