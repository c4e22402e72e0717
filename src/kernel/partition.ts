import { TenantId, TreeId } from "./ids.ts";

/** The owner of data. Every call of a store names it first: there is no query without a tenant. */
export interface Partition {
  readonly tenantId: TenantId | null;
}

const noTenantMark = "-";
/** Prefix of names that are not trees: no tree's id begins with it. */
const otherMark = "~";

/** Readers of {@link Partition}. */
export const Partition = {
  /** Returns the partition of a tenant. Undefined: the partition without a tenant. */
  of: (tenant: string | undefined): Partition => ({
    tenantId: tenant === undefined ? null : TenantId.of(tenant),
  }),
  /**
   * Returns the name of the partition, or of a tree in it, in keys. `-` names the partition without a tenant, because
   * no tenant has that id.
   */
  key: ({ tenantId }: Partition, tree: TreeId | null = null): string =>
    tree === null ? (tenantId ?? noTenantMark) : `${tenantId ?? noTenantMark}/${tree}`,
  /** Returns the name, in keys, of an object of the tenant that is not a tree. */
  part: ({ tenantId }: Partition, name: string): string => `${tenantId ?? noTenantMark}/${otherMark}${name}`,
  /**
   * Parses a name of `key` or `part`. `tree` is null unless a tree is named. @throws TypeError if the name is invalid.
   */
  parse: (key: string): { readonly partition: Partition; readonly tree: TreeId | null } => {
    const [tenant = "", ...rest] = key.split("/");
    const name = rest.join("/");
    const tenantId = tenant === noTenantMark ? null : TenantId.of(tenant);
    const isTree = rest.length > 0 && !name.startsWith(otherMark);
    return { partition: { tenantId }, tree: isTree ? TreeId.of(name) : null };
  },
} as const;
