import { TenantId, TreeId } from "./ids.ts";

/** Whose data. Every call of a store names it first: there is no query without a tenant. */
export interface Partition {
  readonly tenantId: TenantId | null;
}

const nobody = "-";

/** Readers of {@link Partition}. */
export const Partition = {
  /** Its name, or that of a tree in it, in keys. No tenant is called `-`: those without one are a partition too. */
  key: ({ tenantId }: Partition, tree: TreeId | null = null): string =>
    tree === null ? (tenantId ?? nobody) : `${tenantId ?? nobody}/${tree}`,
  /** What {@link Partition.key} named. @throws TypeError if it is no such name. */
  parse: (key: string): { readonly partition: Partition; readonly tree: TreeId | null } => {
    const [tenant = "", ...rest] = key.split("/");
    const tenantId = tenant === nobody ? null : TenantId.of(tenant);
    return { partition: { tenantId }, tree: rest.length === 0 ? null : TreeId.of(rest.join("/")) };
  },
} as const;
