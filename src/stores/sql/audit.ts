import {
  AuditChainError,
  type AuditCheck,
  type AuditEntry,
  type AuditFilter,
  type AuditHead,
  type AuditStore,
  Json,
  type Partition,
} from "#kernel";
import type { Kysely, Selectable } from "kysely";
import { type Access, batches } from "./access.ts";
import type { Tables } from "./tables.ts";

export class SqlAudit implements AuditStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async append(partition: Partition, links: readonly AuditEntry[]): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      const head = await readAuditHead(db, tenant);
      const refuse = (index: number): never => {
        throw new AuditChainError({ index, head: head?.index ?? null });
      };
      const top = head?.index ?? -1;
      const wrong = await findMissing(
        db,
        tenant,
        links.filter(({ index }) => index <= top),
      );
      if (wrong) refuse(wrong.index);
      const fresh = links.filter(({ index }) => index > top);
      let last = head;
      for (const link of fresh) {
        if (link.index !== (last?.index ?? -1) + 1 || link.previous !== (last?.hash ?? ""))
          refuse(link.index);
        last = link;
      }
      for (const batch of batches(fresh)) {
        const added = await insert(db, tenant, batch);
        // Another process was faster, or the link exists already: roll back.
        if (added < batch.length) refuse(batch[0]?.index ?? 0);
      }
    });
  }

  async findRecorded(partition: Partition, sources: readonly string[]): Promise<readonly string[]> {
    return this.#access.read(partition, async (db, tenant) => {
      const found: string[] = [];
      for (const batch of batches(sources)) {
        const rows = db.selectFrom("reeve_audit").select("source").where("tenant_id", "=", tenant);
        for (const { source } of await rows.where("source", "in", batch).execute()) found.push(source);
      }
      return found;
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

  async list(
    partition: Partition,
    { kind, sourcePrefix, before = Number.MAX_SAFE_INTEGER }: AuditFilter,
    limit: number,
  ): Promise<readonly AuditEntry[]> {
    const rows = await this.#access.read(partition, async (db, tenant) => {
      const links =
        sourcePrefix === undefined ? null : await linksOf(db, tenant, { sourcePrefix, before, limit, kind });
      if (links?.length === 0) return [];
      return db
        .selectFrom("reeve_audit")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .$if(links !== null, (query) => query.where("link", "in", links ?? []))
        .$if(links === null, (query) => query.where("link", "<", before))
        .$if(kind !== undefined, (query) => query.where("kind", "=", kind ?? ""))
        .orderBy("link", "desc")
        .limit(limit)
        .execute();
    });
    return rows.map(entryOf);
  }

  async check(partition: Partition): Promise<AuditCheck | null> {
    const row = await this.#access.read(partition, (db, tenant) =>
      db.selectFrom("reeve_audit_check").selectAll().where("tenant_id", "=", tenant).executeTakeFirst(),
    );
    if (!row) return null;
    const { at, body, key_id: keyId, hash } = row;
    return { at, body: Json.of(JSON.parse(body)), keyId, hash };
  }

  async keepCheck(partition: Partition, { at, body, keyId, hash }: AuditCheck): Promise<void> {
    const kept = { at, body: JSON.stringify(body), key_id: keyId, hash };
    await this.#access.write(partition, (db, tenant) =>
      db
        .insertInto("reeve_audit_check")
        .values({ tenant_id: tenant, ...kept })
        .onConflict((conflict) =>
          conflict.column("tenant_id").doUpdateSet(kept).where("reeve_audit_check.at", "<=", at),
        )
        .execute(),
    );
  }

  async head(partition: Partition): Promise<AuditHead | null> {
    return this.#access.read(partition, readAuditHead);
  }
}

async function readAuditHead(db: Kysely<Tables>, tenant: string): Promise<AuditHead | null> {
  const links = db.selectFrom("reeve_audit").select(["link", "hash"]).where("tenant_id", "=", tenant);
  const head = await links.orderBy("link", "desc").limit(1).executeTakeFirst();
  return head ? { index: head.link, hash: head.hash } : null;
}

/**
 * Returns the newest links whose sources have a prefix. They are sorted here: with an order, a database may scan the
 * whole chain from its end instead of using the index of sources.
 */
async function linksOf(
  db: Kysely<Tables>,
  tenant: string,
  wanted: Required<Pick<AuditFilter, "sourcePrefix" | "before">> & {
    readonly limit: number;
    readonly kind: string | undefined;
  },
): Promise<readonly number[]> {
  const { sourcePrefix, before, limit, kind } = wanted;
  const rows = await db
    .selectFrom("reeve_audit")
    .select("link")
    .where("tenant_id", "=", tenant)
    .where("source", ">=", sourcePrefix)
    .where("source", "<", `${sourcePrefix}\u{10ffff}`)
    .$if(kind !== undefined, (query) => query.where("kind", "=", kind ?? ""))
    .execute();
  const links = rows.map(({ link }) => link).filter((link) => link < before);
  return links.toSorted((a, b) => b - a).slice(0, limit);
}

/** Returns the first of these links that is not stored unchanged. */
async function findMissing(
  db: Kysely<Tables>,
  tenant: string,
  links: readonly AuditEntry[],
): Promise<AuditEntry | undefined> {
  const [first] = links;
  if (!first) return undefined;
  const rows = await db
    .selectFrom("reeve_audit")
    .select(["link", "hash"])
    .where("tenant_id", "=", tenant)
    .where("link", ">=", first.index)
    .orderBy("link")
    .limit(links.length)
    .execute();
  return links.find(({ index, hash }, place) => rows[place]?.link !== index || rows[place].hash !== hash);
}

/** Returns how many were added. */
async function insert(db: Kysely<Tables>, tenant: string, links: readonly AuditEntry[]): Promise<number> {
  const rows = links.map(({ index, keyId, data, ...rest }) => ({
    ...rest,
    tenant_id: tenant,
    link: index,
    key_id: keyId,
    data: JSON.stringify(data),
  }));
  const added = await db
    .insertInto("reeve_audit")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning("link")
    .execute();
  return added.length;
}

function entryOf(row: Selectable<Tables["reeve_audit"]>): AuditEntry {
  const { link: index, at, kind, data, source, key_id: keyId, previous, hash } = row;
  return { index, at, kind, data: Json.of(JSON.parse(data)), source, keyId, previous, hash };
}
