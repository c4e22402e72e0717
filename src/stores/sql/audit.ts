import { AuditChainError, type AuditEntry, type AuditStore, Json, type Partition } from "#kernel";
import type { Kysely, Selectable } from "kysely";
import type { Access } from "./access.ts";
import type { Tables } from "./tables.ts";

export class SqlAudit implements AuditStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async append(partition: Partition, entry: AuditEntry): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const head = await headOf(db, tenant);
      const follows = entry.index === (head?.link ?? -1) + 1 && entry.previous === (head?.hash ?? "");
      if (follows && (await insert(db, tenant, entry))) return;
      const kept = db.selectFrom("reeve_audit").select("hash");
      const same = await kept
        .where((eb) => eb.and({ tenant_id: tenant, link: entry.index }))
        .executeTakeFirst();
      if (same?.hash !== entry.hash)
        throw new AuditChainError({ index: entry.index, head: head?.link ?? null });
    });
  }

  async read(partition: Partition, from: number, limit: number): Promise<readonly AuditEntry[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_audit")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .where("link", ">=", from)
        .orderBy("link")
        .limit(limit)
        .execute(),
    );
    return rows.map(entryOf);
  }

  async head(partition: Partition): Promise<AuditEntry | null> {
    const row = await this.#access.read(partition, headOf);
    return row ? entryOf(row) : null;
  }
}

type Row = Selectable<Tables["reeve_audit"]>;

function headOf(db: Kysely<Tables>, tenant: string): Promise<Row | undefined> {
  const links = db.selectFrom("reeve_audit").selectAll().where("tenant_id", "=", tenant);
  return links.orderBy("link", "desc").limit(1).executeTakeFirst();
}

/** Whether nobody was faster. */
async function insert(db: Kysely<Tables>, tenant: string, entry: AuditEntry): Promise<boolean> {
  const { index, at, kind, data, previous, hash } = entry;
  const row = { tenant_id: tenant, link: index, at, kind, data: JSON.stringify(data), previous, hash };
  const added = await db
    .insertInto("reeve_audit")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning("link")
    .executeTakeFirst();
  return added !== undefined;
}

function entryOf({ link, at, kind, data, previous, hash }: Row): AuditEntry {
  return { index: link, at, kind, data: Json.of(JSON.parse(data)), previous, hash };
}
