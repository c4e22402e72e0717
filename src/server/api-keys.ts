import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, TenantId } from "#kernel";
import { systemClock } from "#runtime";
import type { Auth, Principal, Scope } from "./auth.ts";

/** A key as it is kept: nobody can make the key of it. */
export interface ApiKeyRecord {
  /** The part of the key that is no secret. */
  readonly id: string;
  /** SHA-256 of the whole key, in hex. A key is 256 random bits, so nothing slower is needed. */
  readonly hash: string;
  /** Null: those of nobody in particular. */
  readonly tenant: string | null;
  readonly scopes: readonly Scope[];
  /** Milliseconds since 1970; it is refused from then on. */
  readonly expiresAt: number;
}

/** Where keys are looked up: a list, or a store of any kind. */
export type ApiKeySource =
  | readonly ApiKeyRecord[]
  | ((id: string) => Promise<ApiKeyRecord | null> | ApiKeyRecord | null);

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
  const find = typeof source === "function" ? source : inList(source);
  return {
    authenticate: async (bearer): Promise<Principal | null> => {
      const id = /^reeve_([0-9a-f]{18})_[\w-]{43}$/.exec(bearer)?.[1] ?? "";
      const record = await find(id);
      const isRight = isSame(hashOf(bearer), record?.hash ?? nobody);
      if (!record || !isRight || record.id !== id || record.expiresAt <= clock.now()) return null;
      return { id: record.id, tenant: record.tenant, scopes: record.scopes };
    },
  };
}

function inList(records: readonly ApiKeyRecord[]): (id: string) => ApiKeyRecord | null {
  const known = new Map(records.map((record) => [record.id, record]));
  return (id) => known.get(id) ?? null;
}

const hashOf = (key: string): string => hash("sha256", key);

/** What an unknown key is held against, so that it takes as long as a known one. */
const nobody = "0".repeat(64);

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
