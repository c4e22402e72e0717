import { Partition, TreeId, type ObjectAddress } from "#kernel";

/** A tree lies inside its tenant; `-` is the partition of those who have none. */
export function treeAddress(tree: TreeId, tenant = "-"): ObjectAddress {
  return { type: "tree", key: `${tenant}/${tree}` };
}

/** The name of a tree's tenant in keys. */
const tenantKeyOf = ({ key }: ObjectAddress): string => key.slice(0, key.indexOf("/"));

/** Whose a tree is, and which. */
export function treeAt(address: ObjectAddress): { readonly partition: Partition; readonly tree: TreeId } {
  const tenant = tenantKeyOf(address);
  const isNobody = tenant === Partition.key({ tenantId: null });
  return {
    partition: Partition.of(isNobody ? undefined : tenant),
    tree: TreeId.of(address.key.slice(tenant.length + 1)),
  };
}
