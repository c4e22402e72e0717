import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  ApiKeyRecord,
  type ApiKeyStore,
  type Clock,
  type KeyLimits,
  TenantId,
  UserId,
  checkMoment,
} from "#kernel";
import { systemClock } from "#base";
import type { Auth, Principal, Scope } from "./auth.ts";
import { checkLimits } from "./start-limits.ts";

/** A source of API keys: `store.apiKeys`, a list, or any object that finds a key by id. */
export type ApiKeySource = readonly ApiKeyRecord[] | Pick<ApiKeyStore, "find">;

/** Options of a new API key. */
export interface NewApiKey {
  readonly tenant: string | null;
  /** The only user for whom the key acts. Default null: the key is bound to no user. */
  readonly user?: string | null | undefined;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
  /** The most that a tree started with it may have, and its schedules. Default: no limits. */
  readonly limits?: KeyLimits;
}

/**
 * Creates a key and its record. The key is returned only here: the record stores a hash. @throws RangeError for invalid
 * limits or an invalid time; TypeError.
 */
export function createApiKey({ tenant, user = null, scopes, expiresAt, limits }: NewApiKey): {
  readonly key: string;
  readonly record: ApiKeyRecord;
} {
  if (tenant !== null) TenantId.of(tenant);
  if (user !== null && scopes.includes("act-for-users"))
    throw new TypeError(
      `a key bound to user ${user} acts for that user only: remove the scope act-for-users, or the user`,
    );
  if (limits) checkLimits(limits);
  // A key that expires at NaN would never expire.
  checkMoment("expiresAt", expiresAt);
  const id = randomBytes(9).toString("hex");
  const key = `reeve_${id}_${randomBytes(32).toString("base64url")}`;
  const owner = { tenant, user: user === null ? null : UserId.of(user) };
  return { key, record: { id, hash: hashKey(key), ...owner, scopes, expiresAt, ...(limits && { limits }) } };
}

/** Authenticates callers by API key. */
export function apiKeys(
  source: ApiKeySource,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Auth {
  const keys = isRecordList(source) ? findInList(source) : source;
  const isCurrent = (record: ApiKeyRecord, id: string): boolean =>
    record.id === id && record.expiresAt > clock.now();
  return {
    authenticate: async (bearer): Promise<Principal | null> => {
      const id = /^reeve_([0-9a-f]{18})_[\w-]{43}$/.exec(bearer)?.[1] ?? "";
      // A text that can be no key needs no query.
      const found = id === "" ? null : await keys.find(id);
      const record = found && ApiKeyRecord.decode(found);
      const isRight = isEqualInConstantTime(hashKey(bearer), record?.hash ?? hashOfNoKey);
      return record && isRight && isCurrent(record, id) ? toPrincipal(record) : null;
    },
    renew: async (id) => {
      const found = await keys.find(id);
      const record = found && ApiKeyRecord.decode(found);
      return record && isCurrent(record, id) ? toPrincipal(record) : null;
    },
  };
}

function toPrincipal({ id, tenant, user, scopes, limits, expiresAt }: ApiKeyRecord): Principal {
  return { id, tenant, ...(user !== null && { user }), scopes, ...(limits && { limits }), expiresAt };
}

const isRecordList = (source: ApiKeySource): source is readonly ApiKeyRecord[] => Array.isArray(source);

function findInList(records: readonly ApiKeyRecord[]): Pick<ApiKeyStore, "find"> {
  const known = new Map(records.map((record) => [record.id, record]));
  return { find: async (id) => known.get(id) ?? null };
}

const hashKey = (key: string): string => hash("sha256", key);

/** Hash that unknown keys are compared with, so that they take as long as known keys. */
const hashOfNoKey = "0".repeat(64);

function isEqualInConstantTime(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
