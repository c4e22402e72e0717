import { ApiKeyRecord, type ApiKeyStore, isJsonObject, type Partition, type UserId } from "#kernel";
import type { Selectable } from "kysely";
import type { Access } from "./access.ts";
import type { Tables } from "./tables.ts";

/** Keys are looked up before their tenant is known, so all are stored in the partition without a tenant. */
const noTenant: Partition = { tenantId: null };

export class SqlApiKeys implements ApiKeyStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put({ id, tenant: owner, user, ...rest }: ApiKeyRecord): Promise<void> {
    const body = JSON.stringify(rest);
    await this.#access.write(noTenant, (db, tenant) =>
      db
        .insertInto("reeve_api_key")
        .values({ tenant_id: tenant, api_key_id: id, owner: owner ?? "", user_id: user ?? "", body })
        .onConflict((conflict) => conflict.columns(["tenant_id", "api_key_id"]).doNothing())
        .execute(),
    );
  }

  async find(id: string): Promise<ApiKeyRecord | null> {
    const row = await this.#access.read(noTenant, (db, tenant) =>
      db
        .selectFrom("reeve_api_key")
        .select(["api_key_id", "owner", "user_id", "body"])
        .where((eb) => eb.and({ tenant_id: tenant, api_key_id: id }))
        .executeTakeFirst(),
    );
    return row ? toApiKeyRecord(row) : null;
  }

  async list(owner: string | null): Promise<readonly ApiKeyRecord[]> {
    const rows = await this.#access.read(noTenant, (db, tenant) =>
      db
        .selectFrom("reeve_api_key")
        .select(["api_key_id", "owner", "user_id", "body"])
        .where((eb) => eb.and({ tenant_id: tenant, owner: owner ?? "" }))
        .orderBy("api_key_id")
        .execute(),
    );
    return rows.map(toApiKeyRecord);
  }

  async revoke(owner: string | null, id: string): Promise<void> {
    await this.#access.write(noTenant, (db, tenant) =>
      db
        .deleteFrom("reeve_api_key")
        .where((eb) => eb.and({ tenant_id: tenant, api_key_id: id, owner: owner ?? "" }))
        .execute(),
    );
  }

  /** Revokes the keys that are bound to a user. */
  async revokeUser(owner: string | null, user: UserId): Promise<void> {
    await this.#access.write(noTenant, (db, tenant) =>
      db
        .deleteFrom("reeve_api_key")
        .where((eb) => eb.and({ tenant_id: tenant, owner: owner ?? "", user_id: user }))
        .execute(),
    );
  }
}

type Row = Pick<Selectable<Tables["reeve_api_key"]>, "api_key_id" | "owner" | "user_id" | "body">;

/** @throws TypeError if it is not the record of a key. */
function toApiKeyRecord({ api_key_id: id, owner, user_id: user, body }: Row): ApiKeyRecord {
  const kept: unknown = JSON.parse(body);
  const rest = isJsonObject(kept) ? kept : {};
  return ApiKeyRecord.decode({
    ...rest,
    id,
    tenant: owner === "" ? null : owner,
    user: user === "" ? null : user,
  });
}
