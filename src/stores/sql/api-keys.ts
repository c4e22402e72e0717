import { type ApiKeyRecord, type ApiKeyStore, Json, type Partition } from "#kernel";
import type { Access } from "./access.ts";

/** Whose a key is, is what it is asked for: all of them lie in the partition of those without a tenant. */
const nobody: Partition = { tenantId: null };

export class SqlApiKeys implements ApiKeyStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put({ id, tenant: owner, ...rest }: ApiKeyRecord): Promise<void> {
    const body = JSON.stringify(rest);
    await this.#access.write(nobody, (db, tenant) =>
      db
        .insertInto("reeve_api_key")
        .values({ tenant_id: tenant, api_key_id: id, owner: owner ?? "", body })
        .onConflict((conflict) => conflict.columns(["tenant_id", "api_key_id"]).doNothing())
        .execute(),
    );
  }

  async find(id: string): Promise<ApiKeyRecord | null> {
    const row = await this.#access.read(nobody, (db, tenant) =>
      db
        .selectFrom("reeve_api_key")
        .select(["api_key_id", "owner", "body"])
        .where((eb) => eb.and({ tenant_id: tenant, api_key_id: id }))
        .executeTakeFirst(),
    );
    return row ? recordOf(row) : null;
  }

  async list(owner: string | null): Promise<readonly ApiKeyRecord[]> {
    const rows = await this.#access.read(nobody, (db, tenant) =>
      db
        .selectFrom("reeve_api_key")
        .select(["api_key_id", "owner", "body"])
        .where((eb) => eb.and({ tenant_id: tenant, owner: owner ?? "" }))
        .orderBy("api_key_id")
        .execute(),
    );
    return rows.map(recordOf);
  }

  async revoke(owner: string | null, id: string): Promise<void> {
    await this.#access.write(nobody, (db, tenant) =>
      db
        .deleteFrom("reeve_api_key")
        .where((eb) => eb.and({ tenant_id: tenant, api_key_id: id, owner: owner ?? "" }))
        .execute(),
    );
  }
}

function recordOf(row: {
  readonly api_key_id: string;
  readonly owner: string;
  readonly body: string;
}): ApiKeyRecord {
  const said = Json.as<Omit<ApiKeyRecord, "id" | "tenant">>(JSON.parse(row.body));
  return { ...said, id: row.api_key_id, tenant: row.owner === "" ? null : row.owner };
}
