import { TenantId, TreeId } from "./ids.ts";

/** Whose data. Every call of a store names it first: there is no query without a tenant. */
export interface Partition {
  readonly tenantId: TenantId | null;
}

const nobody = "-";
/** No tree's name begins with it. */
const otherMark = "~";

/** Readers of {@link Partition}. */
export const Partition = {
  /** The partition of a tenant; undefined: that of those without one. */
  of: (tenant: string | undefined): Partition => ({
    tenantId: tenant === undefined ? null : TenantId.of(tenant),
  }),
  /** Its name, or that of a tree in it, in keys. No tenant is called `-`: those without one are a partition too. */
  key: ({ tenantId }: Partition, tree: TreeId | null = null): string =>
    tree === null ? (tenantId ?? nobody) : `${tenantId ?? nobody}/${tree}`,
  /** The name, in keys, of something else than a tree that the tenant owns. */
  part: ({ tenantId }: Partition, name: string): string => `${tenantId ?? nobody}/${otherMark}${name}`,
  /** What those named; no tree but for a tree's. @throws TypeError if it is no such name. */
  parse: (key: string): { readonly partition: Partition; readonly tree: TreeId | null } => {
    const [tenant = "", ...rest] = key.split("/");
    const name = rest.join("/");
    const tenantId = tenant === nobody ? null : TenantId.of(tenant);
    const isTree = rest.length > 0 && !name.startsWith(otherMark);
    return { partition: { tenantId }, tree: isTree ? TreeId.of(name) : null };
  },
} as const;
