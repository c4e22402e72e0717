import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { type ApiKeyRecord, type ApiKeyStore, type Clock, TenantId } from "#kernel";
import { systemClock } from "#runtime";
import type { Auth, Principal, Scope } from "./auth.ts";

/** Where keys are looked up: `store.apiKeys`, a list, or whatever finds one by its id. */
export type ApiKeySource = readonly ApiKeyRecord[] | Pick<ApiKeyStore, "find">;

/** What a new key is good for. */
export interface NewApiKey {
  readonly tenant: string | null;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
}

/** Makes a key. It is shown here and never again: only its record is kept. */
export function createApiKey({ tenant, scopes, expiresAt }: NewApiKey): {
  readonly key: string;
  readonly record: ApiKeyRecord;
} {
  if (tenant !== null) TenantId.of(tenant);
  const id = randomBytes(9).toString("hex");
  const key = `reeve_${id}_${randomBytes(32).toString("base64url")}`;
  return { key, record: { id, hash: hashOf(key), tenant, scopes, expiresAt } };
}

/** Knows people by API keys. */
export function apiKeys(
  source: ApiKeySource,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Auth {
  const keys = isList(source) ? inList(source) : source;
  return {
    authenticate: async (bearer): Promise<Principal | null> => {
      const id = /^reeve_([0-9a-f]{18})_[\w-]{43}$/.exec(bearer)?.[1] ?? "";
      const record = await keys.find(id);
      const isRight = isSame(hashOf(bearer), record?.hash ?? nobody);
      if (!record || !isRight || record.id !== id || record.expiresAt <= clock.now()) return null;
      return { id: record.id, tenant: record.tenant, scopes: record.scopes };
    },
  };
}

const isList = (source: ApiKeySource): source is readonly ApiKeyRecord[] => Array.isArray(source);

function inList(records: readonly ApiKeyRecord[]): Pick<ApiKeyStore, "find"> {
  const known = new Map(records.map((record) => [record.id, record]));
  return { find: async (id) => known.get(id) ?? null };
}

const hashOf = (key: string): string => hash("sha256", key);

/** What an unknown key is held against, so that it takes as long as a known one. */
const nobody = "0".repeat(64);

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
