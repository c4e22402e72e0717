import { type ApiKeyScope, type Partition, TenantId } from "#kernel";

/** What somebody may do. */
export type Scope = ApiKeyScope;

/** Somebody who has shown who they are. */
export interface Principal {
  /** For limits, and for the audit: who approved, who started. Never a secret. */
  readonly id: string;
  /** Whose data they see. Null: those of nobody in particular. */
  readonly tenant: string | null;
  readonly scopes: readonly Scope[];
}

/** Knows people by what they bring along. */
export interface Auth {
  /** Null: nobody that is known here. Takes the same time for whatever is wrong with it. */
  authenticate(bearer: string): Promise<Principal | null>;
}

export const mayDo = ({ scopes }: Principal, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** Everybody, where only this machine can ask. */
export const everybody: Principal = { id: "loopback", tenant: null, scopes: ["admin"] };

/** Who shares what there is: a tenant, however many keys it has. */
export const sharerOf = ({ tenant, id }: Principal): string =>
  tenant === null ? `key ${id}` : `tenant ${tenant}`;

/** Whose, for the runtime. */
export const whose = ({ tenant }: Principal): { readonly tenant?: string } =>
  tenant === null ? {} : { tenant };

/** Whose, for the store. */
export const partitionOf = ({ tenant }: Principal): Partition => ({
  tenantId: tenant === null ? null : TenantId.of(tenant),
});
