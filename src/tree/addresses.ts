import { Partition, TreeId, type ObjectAddress } from "#kernel";

/** Returns the address of a tree. A tree belongs to a tenant; `-` is the partition without a tenant. */
export function treeAddress(tree: TreeId, tenant = "-"): ObjectAddress {
  return { type: "tree", key: `${tenant}/${tree}` };
}

/** Returns the name of a tree's tenant in keys. */
const tenantKeyOf = ({ key }: ObjectAddress): string => key.slice(0, key.indexOf("/"));

/** Returns the partition and the id of the tree at an address. */
export function treeAt(address: ObjectAddress): { readonly partition: Partition; readonly tree: TreeId } {
  const tenant = tenantKeyOf(address);
  const hasNoTenant = tenant === Partition.key({ tenantId: null });
  return {
    partition: Partition.of(hasNoTenant ? undefined : tenant),
    tree: TreeId.of(address.key.slice(tenant.length + 1)),
  };
}
