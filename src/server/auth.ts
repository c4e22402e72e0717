import { type ApiKeyScope, type Partition, type StartLimits, TenantId } from "#kernel";

/** What somebody may do. */
export type Scope = ApiKeyScope;

/** Somebody who has shown who they are. */
export interface Principal {
  /** For limits, and for the audit: who approved, who started. Never a secret. */
  readonly id: string;
  /** Whose data they see. Null: those of nobody in particular. */
  readonly tenant: string | null;
  /** The only user for whom they act and whose data they see. Default: they see those of every user of the tenant. */
  readonly user?: string | undefined;
  readonly scopes: readonly Scope[];
  /** The most that a tree they start may have. Default: no limits. */
  readonly limits?: StartLimits | undefined;
  /** The time after which they are not known any more. Default: not known here. */
  readonly expiresAt?: number | undefined;
}

/** Knows people by what they bring along. */
export interface Auth {
  /** Null: nobody that is known here. Takes the same time for whatever is wrong with it. */
  authenticate(bearer: string): Promise<Principal | null>;
  /**
   * Returns the holder of a key by its id, as the key is now; null: it was revoked or has expired. Asked for each request
   * of a browser's session. Default: a session keeps the rights with which it was opened.
   */
  renew?(id: string): Promise<Principal | null>;
}

export const mayDo = ({ scopes }: Principal, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** Everybody, where only this machine can ask. */
export const everybody: Principal = { id: "loopback", tenant: null, scopes: ["admin", "content"] };

/** Whether a caller may read the errors of the program's code, which can hold content. `admin` may not. */
export const mayReadContent = ({ scopes }: Principal): boolean => scopes.includes("content");

/** Who shares what there is: a tenant, however many keys it has. */
export const sharerOf = ({ tenant, id }: Principal): string =>
  tenant === null ? `key ${id}` : `tenant ${tenant}`;

/** The tenant, for the runtime. */
export const whose = ({ tenant }: Principal): { readonly tenant?: string } =>
  tenant === null ? {} : { tenant };

/** The tenant and the user, who are part of a conversation's address: two users may both have a chat `c`. */
export const ownerOf = (principal: Principal): { readonly tenant?: string; readonly user?: string } => ({
  ...whose(principal),
  ...(principal.user !== undefined && { user: principal.user }),
});

/** Whose, for the store. */
export const partitionOf = ({ tenant }: Principal): Partition => ({
  tenantId: tenant === null ? null : TenantId.of(tenant),
});
