import { Partition, type ObjectAddress, type TenantId, type TreeId, type UserId } from "#kernel";
import type { BudgetLimits, Closed, Draw } from "#ledger";

/** The parts of a draw besides its figures. */
export interface DrawArgument extends Omit<Draw, "at"> {
  readonly tree: TreeId;
  readonly user: UserId | null;
}

/** A tree closes or shrinks its lease, or corrects what it has told of one that is closed. */
export interface ReturnArgument extends Closed {
  readonly tree: TreeId;
  readonly user: UserId | null;
}

/** Sets a budget. */
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

/** The address of a tenant's budgets. */
export const tenantAddress = (tenantId: TenantId): ObjectAddress => ({
  type: tenantType,
  key: Partition.key({ tenantId }),
});
