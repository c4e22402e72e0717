import {
  Fact,
  type FactQuery,
  type ForgetRequest,
  type IndexEntry,
  isJsonObject,
  Json,
  Labels,
  MemoryBlock,
  type MemoryHit,
  MemoryItem,
  MemoryOwner,
  type BlockEdit,
  type BlockEditResult,
  type BlockReceipt,
  type MemoryQuery,
  type MemoryStore,
  type RememberOptions,
  type Partition,
  type UserId,
} from "#kernel";
import type { Kysely } from "kysely";
import type { Access, Work, WriteOptions } from "./access.ts";
import { belongsTo, memoryTables, ownerColumns, type OwnerColumns } from "./memory-owner-rows.ts";
import { dropItems, listIndex, putTerms, searchTerms } from "./memory-index.ts";
import { blockOf, factOf } from "./memory-rows.ts";
import type { Tables } from "./tables.ts";

type OwnWork<T> = (db: Kysely<Tables>, own: OwnerColumns) => Promise<T>;

export class SqlMemories implements MemoryStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async remember(
    partition: Partition,
    owner: MemoryOwner,
    fact: Fact,
    options: RememberOptions = {},
  ): Promise<readonly MemoryItem[]> {
    Fact.check(fact);
    const { id, key, value, validFrom, validTo, recordedAt, runId, labels } = fact;
    return this.#writeOnce(partition, owner, id, async (db, own) => {
      const replaced = await db
        .deleteFrom("reeve_memory_fact")
        .where((eb) => eb.and({ ...own, key, valid_from: validFrom }))
        .returning("fact_id")
        .execute();
      Fact.checkRoom(await countFacts(db, own), options);
      const items = itemsOf(replaced);
      await dropItems(db, own, items);
      const row = { key, valid_from: validFrom, valid_to: validTo, fact_id: id, recorded_at: recordedAt };
      const body = JSON.stringify({ value, runId, labels });
      await db
        .insertInto("reeve_memory_fact")
        .values({ ...own, ...row, body })
        .execute();
      await putTerms(db, own, { item: MemoryItem.fact(id), at: recordedAt, terms: options.terms ?? [] });
      return items;
    });
  }

  async recall(
    partition: Partition,
    owner: MemoryOwner,
    { key, ids, at }: FactQuery,
  ): Promise<readonly Fact[]> {
    const rows = await this.#read(partition, owner, (db, own) => {
      const facts = db.selectFrom("reeve_memory_fact").where((eb) => eb.and({ ...own }));
      return (
        facts
          .selectAll()
          .$if(key !== undefined, (query) => query.where("key", "=", key ?? ""))
          // All of their keys: where a fact ends follows from the next one.
          .$if(ids !== undefined, (query) =>
            query.where("key", "in", facts.select("key").where("fact_id", "in", [...(ids ?? []), ""])),
          )
          .orderBy("key")
          .orderBy("valid_from")
          .execute()
      );
    });
    return [...Map.groupBy(rows.map(factOf), (fact) => fact.key).values()]
      .flatMap(Fact.timeline)
      .filter((fact) => ids === undefined || ids.includes(fact.id))
      .filter((fact) => at === undefined || Fact.holds(fact, at));
  }

  async forget(
    partition: Partition,
    owner: MemoryOwner,
    request: ForgetRequest,
  ): Promise<readonly MemoryItem[]> {
    const forget: OwnWork<readonly MemoryItem[]> = async (db, own) => {
      const erased = await db
        .deleteFrom("reeve_memory_fact")
        .where((eb) => eb.and({ ...own }))
        .where(
          "fact" in request ? (eb) => eb("fact_id", "=", request.fact) : (eb) => eb("key", "=", request.key),
        )
        .returning("fact_id")
        .execute();
      const items = itemsOf(erased);
      await dropItems(db, own, items);
      return items;
    };
    return this.#writeOnce(partition, owner, request.id, forget, { erases: true });
  }

  async block(partition: Partition, owner: MemoryOwner, name: string): Promise<MemoryBlock | null> {
    return this.#read(partition, owner, (db, own) => findBlock(db, own, name));
  }

  async blocks(partition: Partition, owner: MemoryOwner): Promise<readonly MemoryBlock[]> {
    const rows = await this.#read(partition, owner, (db, own) =>
      db
        .selectFrom("reeve_memory_block")
        .selectAll()
        .where((eb) => eb.and({ ...own }))
        .orderBy("name")
        .execute(),
    );
    return rows.map(blockOf);
  }

  async editBlock(
    partition: Partition,
    owner: MemoryOwner,
    name: string,
    edit: BlockEdit,
  ): Promise<BlockEditResult> {
    MemoryBlock.check(name, edit);
    return this.#write(partition, owner, async (db, own) => {
      const before = receiptOf(await findWrite(db, own, edit.id));
      if (before) return { outcome: "applied", receipt: before };
      const present = await findBlock(db, own, name);
      if ((present?.version ?? 0) !== edit.version) return { outcome: "conflict", present };
      const { text, limit, runId, at, terms = [] } = edit;
      const version = edit.version + 1;
      const labels = Labels.join(edit.labels, present?.labels);
      const body = { text, limit, runId, labels, ...MemoryBlock.joinAuthors(present, edit) };
      const row = { version, updated_at: at, body: JSON.stringify(body) };
      await db
        .insertInto("reeve_memory_block")
        .values({ ...own, name, ...row })
        .onConflict((conflict) => conflict.columns(["tenant_id", "owner", "name"]).doUpdateSet(row))
        .execute();
      await putTerms(db, own, { item: MemoryItem.block(name), at, terms });
      const receipt = { name, version, updatedAt: at };
      await recordWrite(db, own, edit.id, receipt);
      return { outcome: "applied", receipt };
    });
  }

  async findEdit(partition: Partition, owner: MemoryOwner, id: string): Promise<BlockReceipt | null> {
    return receiptOf(await this.#read(partition, owner, (db, own) => findWrite(db, own, id)));
  }

  async removeBlock(partition: Partition, owner: MemoryOwner, name: string): Promise<void> {
    await this.#write(partition, owner, async (db, own) => {
      await db
        .deleteFrom("reeve_memory_block")
        .where((eb) => eb.and({ ...own, name }))
        .execute();
      await dropItems(db, own, [MemoryItem.block(name)]);
    });
  }

  async index(partition: Partition, owner: MemoryOwner, entries: readonly IndexEntry[]): Promise<void> {
    await this.#write(partition, owner, async (db, own) => {
      for (const entry of entries) await putTerms(db, own, entry);
    });
  }

  async unindex(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void> {
    await this.#write(partition, owner, (db, own) => dropItems(db, own, items));
  }

  async search(partition: Partition, owner: MemoryOwner, query: MemoryQuery): Promise<readonly MemoryHit[]> {
    return this.#read(partition, owner, async (db, own) =>
      (await searchTerms(db, own, query)).map(({ item, score, at }) => ({
        owner,
        item: MemoryItem.parse(item),
        score,
        at,
      })),
    );
  }

  async listIndexed(
    partition: Partition,
    owner: MemoryOwner,
    range: { readonly after: MemoryItem | null; readonly limit: number },
  ): Promise<readonly IndexEntry[]> {
    return this.#read(partition, owner, (db, own) => listIndex(db, own, range));
  }

  async owners(partition: Partition, user: UserId | null): Promise<readonly MemoryOwner[]> {
    const found = await this.#access.read(partition, async (db, tenant) => {
      const names = new Set<string>();
      for (const table of memoryTables) {
        if (table === "reeve_memory_write") continue;
        const query = db.selectFrom(table).select("owner").distinct().where(belongsTo(tenant, user));
        for (const { owner } of await query.execute()) names.add(owner);
      }
      return names;
    });
    return [...found].toSorted().map(MemoryOwner.parse);
  }

  #read<T>(partition: Partition, owner: MemoryOwner, work: OwnWork<T>): Promise<T> {
    return this.#access.read(partition, (db, tenant) => work(db, ownerColumns(tenant, owner)));
  }

  /** Serialises the writers of one owner, so each sees the previous write. */
  #write<T>(
    partition: Partition,
    owner: MemoryOwner,
    work: OwnWork<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    const write: Work<T> = async (db, tenant) => {
      const own = ownerColumns(tenant, owner);
      await recordWrite(db, own, "", null);
      return work(db, own);
    };
    return this.#access.write(partition, write, options);
  }

  /** Runs the work, unless a write with this id exists: then returns its result. */
  #writeOnce(
    partition: Partition,
    owner: MemoryOwner,
    id: string,
    work: OwnWork<readonly MemoryItem[]>,
    options: WriteOptions = {},
  ): Promise<readonly MemoryItem[]> {
    const writeUnlessDone: OwnWork<readonly MemoryItem[]> = async (db, own) => {
      const before = await findWrite(db, own, id);
      if (Array.isArray(before))
        return before.filter((item) => typeof item === "string").map(MemoryItem.parse);
      const items = await work(db, own);
      await recordWrite(db, own, id, items.map(MemoryItem.key));
      return items;
    };
    return this.#write(partition, owner, writeUnlessDone, options);
  }
}

const itemsOf = (rows: readonly { readonly fact_id: string }[]): readonly MemoryItem[] =>
  rows.map(({ fact_id }) => MemoryItem.fact(fact_id));

async function countFacts(db: Kysely<Tables>, own: OwnerColumns): Promise<number> {
  const counted = await db
    .selectFrom("reeve_memory_fact")
    .select((eb) => eb.fn.countAll().as("number"))
    .where((eb) => eb.and({ ...own }))
    .executeTakeFirst();
  return Number(counted?.number ?? 0);
}

async function findWrite(db: Kysely<Tables>, own: OwnerColumns, id: string): Promise<Json> {
  const row = await db
    .selectFrom("reeve_memory_write")
    .select("body")
    .where((eb) => eb.and({ ...own, write_id: id }))
    .executeTakeFirst();
  return row ? Json.of(JSON.parse(row.body)) : null;
}

/** Takes the lock of the row, also where it is there already. */
async function recordWrite(
  db: Kysely<Tables>,
  own: OwnerColumns,
  id: string,
  result: unknown,
): Promise<void> {
  const body = JSON.stringify(result);
  await db
    .insertInto("reeve_memory_write")
    .values({ ...own, write_id: id, body })
    .onConflict((conflict) => conflict.columns(["tenant_id", "owner", "write_id"]).doUpdateSet({ body }))
    .execute();
}

async function findBlock(db: Kysely<Tables>, own: OwnerColumns, name: string): Promise<MemoryBlock | null> {
  const row = await db
    .selectFrom("reeve_memory_block")
    .selectAll()
    .where((eb) => eb.and({ ...own, name }))
    .executeTakeFirst();
  return row ? blockOf(row) : null;
}

function receiptOf(body: Json): BlockReceipt | null {
  if (!isJsonObject(body)) return null;
  const { name, version, updatedAt } = body;
  if (typeof name !== "string" || typeof version !== "number" || typeof updatedAt !== "number") return null;
  return { name, version, updatedAt };
}
