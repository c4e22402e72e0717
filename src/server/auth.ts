import { type ApiKeyScope, type Partition, type KeyLimits, TenantId } from "#kernel";

/** A right of a caller. */
export type Scope = ApiKeyScope;

/** An authenticated caller. */
export interface Principal {
  /** Identifies the caller in limits and in the audit. Never a secret. */
  readonly id: string;
  /** Tenant whose data the caller sees. Null: the partition without a tenant. */
  readonly tenant: string | null;
  /** The only user the caller acts for and can read. Default: the caller can read every user of the tenant. */
  readonly user?: string | undefined;
  readonly scopes: readonly Scope[];
  /** The most that a tree they start may have, and their schedules. Default: no limits. */
  readonly limits?: KeyLimits | undefined;
  /** Time at which the credentials expire. Default: unknown. */
  readonly expiresAt?: number | undefined;
}

/** Authenticates callers by their credentials. */
export interface Auth {
  /** Returns the caller, or null if the credentials are invalid. Takes equally long for every kind of failure. */
  authenticate(bearer: string): Promise<Principal | null>;
  /**
   * Returns the holder of a key by its id, as the key is now; null: it was revoked or has expired. Asked for each request
   * of a browser's session. Default: a session keeps the rights with which it was opened.
   */
  renew?(id: string): Promise<Principal | null>;
}

export const mayDo = ({ scopes }: Principal, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** The caller of a server without authentication, which only this machine can reach. */
export const loopbackPrincipal: Principal = { id: "loopback", tenant: null, scopes: ["admin", "content"] };

/** Whether a caller may read the errors of the program's code, which can hold content. `admin` may not. */
export const mayReadContent = ({ scopes }: Principal): boolean => scopes.includes("content");

/** Whether a caller may read conversations, memory, answers and inputs: with the scope `content`, or those of its own user. */
export const mayReadEntries = (principal: Principal): boolean =>
  principal.user !== undefined || mayDo(principal, "content");

/** Returns the key that limits are counted under: the tenant, or the API key if there is no tenant. */
export const sharerOf = ({ tenant, id }: Principal): string =>
  tenant === null ? `key ${id}` : `tenant ${tenant}`;

/** The tenant, for the runtime. */
export const whose = ({ tenant }: Principal): { readonly tenant?: string } =>
  tenant === null ? {} : { tenant };

/** The tenant and the user, who are part of a conversation's address: two users may both have a chat `c`. */
export const toOwner = (principal: Principal): { readonly tenant?: string; readonly user?: string } => ({
  ...whose(principal),
  ...(principal.user !== undefined && { user: principal.user }),
});

/** Returns the store partition of a caller. */
export const partitionOf = ({ tenant }: Principal): Partition => ({
  tenantId: tenant === null ? null : TenantId.of(tenant),
});
