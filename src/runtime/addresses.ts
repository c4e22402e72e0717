import { Partition, TenantId, TreeId, type ObjectAddress } from "#kernel";

/** Whose: a tenant's, or those of nobody in particular. */
export const partitionOf = (tenant: string | undefined): Partition => ({
  tenantId: tenant === undefined ? null : TenantId.of(tenant),
});

/** A tree lies inside its tenant; `-` is the partition of those who have none. */
export function treeAddress(tree: TreeId, tenant = "-"): ObjectAddress {
  return { type: "tree", key: `${tenant}/${tree}` };
}

/** The name of a tree's tenant in keys. */
export const tenantKeyOf = ({ key }: ObjectAddress): string => key.slice(0, key.indexOf("/"));

/** Whose a tree is, and which. */
export function treeAt(address: ObjectAddress): { readonly partition: Partition; readonly tree: TreeId } {
  const tenant = tenantKeyOf(address);
  const isNobody = tenant === Partition.key({ tenantId: null });
  return {
    partition: partitionOf(isNobody ? undefined : tenant),
    tree: TreeId.of(address.key.slice(tenant.length + 1)),
  };
}
