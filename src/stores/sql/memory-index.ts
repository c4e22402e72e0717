import { type IndexEntry, MemoryItem, type MemoryQuery, weighTerms } from "#kernel";
import { type Kysely, sql } from "kysely";
import { batches } from "./access.ts";
import type { OwnerColumns } from "./memory-owner-rows.ts";
import type { Tables } from "./tables.ts";

/** Puts an item into the index, in place of its former terms. */
export async function putTerms(
  db: Kysely<Tables>,
  own: OwnerColumns,
  { item, at, terms }: IndexEntry,
): Promise<void> {
  const key = MemoryItem.key(item);
  await deleteItem(db, own, "reeve_memory_term", key);
  const rows = [...new Set(terms)].map((term) => ({
    tenant_id: own.tenant_id,
    owner: own.owner,
    term,
    item: key,
    kind: item.kind,
    at,
  }));
  for (const batch of batches(rows)) await db.insertInto("reeve_memory_term").values(batch).execute();
}

/** Removes the terms and the vectors of items. */
export async function dropItems(
  db: Kysely<Tables>,
  own: OwnerColumns,
  items: readonly MemoryItem[],
): Promise<void> {
  for (const item of items)
    for (const table of ["reeve_memory_term", "reeve_memory_vector"] as const)
      await deleteItem(db, own, table, MemoryItem.key(item));
}

/** A range of one item: for an equality, SQLite reads all terms of the owner instead of the index by item. */
async function deleteItem(
  db: Kysely<Tables>,
  own: OwnerColumns,
  table: "reeve_memory_term" | "reeve_memory_vector",
  item: string,
): Promise<void> {
  await db
    .deleteFrom(table)
    .where((eb) => eb.and({ ...own }))
    .where((eb) => eb.between("item", item, item))
    .execute();
}

/** An item of the index that a search found. */
export interface TermHit {
  readonly item: string;
  readonly score: number;
  readonly at: number;
}

/** No plain column: to group by that, SQLite reads all terms of the owner in the order of the items. */
const found = sql<string>`reeve_memory_term.item || ''`;

/** Counts the items of each term first: the rarer a term is, the more it weighs. */
export async function searchTerms(
  db: Kysely<Tables>,
  own: OwnerColumns,
  { terms, kinds, limit, at }: MemoryQuery,
): Promise<readonly TermHit[]> {
  if (terms.length === 0 || kinds?.length === 0) return [];
  const entries = db
    .selectFrom("reeve_memory_term")
    .where((eb) => eb.and({ ...own }))
    .$if(kinds !== undefined, (query) => query.where("kind", "in", [...(kinds ?? [])]));
  const counts = await entries
    .select((eb) => ["term", eb.fn.countAll<number>().as("items")])
    .where("term", "in", [...new Set(terms)])
    .groupBy("term")
    .execute();
  const weights = weighTerms(new Map(counts.map(({ term, items }) => [term, items])));
  if (weights.size === 0) return [];
  const cases = [...weights].map(([term, weight]) => sql`when ${term} then ${sql.lit(weight)}`);
  return entries
    .select((eb) => [
      found.as("item"),
      eb.fn.max<number>("at").as("at"),
      sql<number>`sum(case term ${sql.join(cases, sql` `)} else 0 end)`.as("score"),
    ])
    .where("term", "in", [...weights.keys()])
    .$if(at !== undefined, (query) =>
      query.where((eb) =>
        eb.or([eb("kind", "<>", "fact"), eb("item", "in", selectHolding(db, own, at ?? 0))]),
      ),
    )
    .groupBy(found)
    .orderBy("score", "desc")
    .orderBy("at", "desc")
    .orderBy(found)
    .limit(limit)
    .execute();
}

/** Returns the facts valid at a moment: begun, not ended, and not superseded. */
function selectHolding(db: Kysely<Tables>, own: OwnerColumns, at: number) {
  return db
    .selectFrom("reeve_memory_fact as fact")
    .select(sql<string>`'fact ' || fact.fact_id`.as("item"))
    .where("fact.tenant_id", "=", own.tenant_id)
    .where("fact.owner", "=", own.owner)
    .where("fact.valid_from", "<=", at)
    .where((eb) => eb.or([eb("fact.valid_to", "is", null), eb("fact.valid_to", ">", at)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("reeve_memory_fact as later")
            .select("later.fact_id")
            .whereRef("later.tenant_id", "=", "fact.tenant_id")
            .whereRef("later.owner", "=", "fact.owner")
            .whereRef("later.key", "=", "fact.key")
            .whereRef("later.valid_from", ">", "fact.valid_from")
            .where("later.valid_from", "<=", at),
        ),
      ),
    );
}

/** Reads a part of the index, in the order of the items' names. */
export async function listIndex(
  db: Kysely<Tables>,
  own: OwnerColumns,
  { after, limit }: { readonly after: MemoryItem | null; readonly limit: number },
): Promise<readonly IndexEntry[]> {
  const entries = db.selectFrom("reeve_memory_term").where((eb) => eb.and({ ...own }));
  const named = entries
    .select("item")
    .distinct()
    .$if(after !== null, (query) => query.where("item", ">", after ? MemoryItem.key(after) : ""))
    .orderBy("item")
    .limit(limit);
  const rows = await entries
    .select(["item", "at", "term"])
    .where("item", "in", db.selectFrom(named.as("named")).select("named.item"))
    .orderBy("item")
    .orderBy("term")
    .execute();
  return [...Map.groupBy(rows, ({ item }) => item)].map(([item, terms]) => ({
    item: MemoryItem.parse(item),
    at: terms[0]?.at ?? 0,
    terms: terms.map(({ term }) => term),
  }));
}
