import type { TenantId } from "./ids.ts";

/** Whose data. Every call of a store names it first: there is no query without a tenant. */
export interface Partition {
  readonly tenantId: TenantId | null;
}

/** Readers of {@link Partition}. */
export const Partition = {
  /** Its name in keys. No tenant is called `-`: those without one are a partition of their own. */
  key: ({ tenantId }: Partition): string => tenantId ?? "-",
} as const;
