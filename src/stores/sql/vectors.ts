import {
  MemoryHit,
  MemoryItem,
  type MemoryOwner,
  MemoryVector,
  type Partition,
  type SessionKey,
  type UserId,
  type VectorPosition,
  type VectorQuery,
  type VectorStore,
} from "#kernel";
import type { Access } from "./access.ts";
import { batches } from "./access.ts";
import { belongsTo, eraseSessionMemory, ownerColumns } from "./memory-owner-rows.ts";

/** Vectors that are compared one by one, within their owner: for some thousand items of each. */
export class SqlVectors implements VectorStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async put(partition: Partition, owner: MemoryOwner, vectors: readonly MemoryVector[]): Promise<void> {
    vectors.forEach(MemoryVector.check);
    await this.#access.write(partition, async (db, tenant) => {
      const own = ownerColumns(tenant, owner);
      const rows = vectors.map(({ item, embedder, at, vector }) => ({
        ...own,
        item: MemoryItem.key(item),
        embedder,
        kind: item.kind,
        at,
        vector: encodeVector(vector),
      }));
      for (const batch of batches(rows))
        await db
          .insertInto("reeve_memory_vector")
          .values(batch)
          .onConflict((conflict) =>
            conflict
              .columns(["tenant_id", "owner", "item", "embedder"])
              .doUpdateSet((eb) => ({ at: eb.ref("excluded.at"), vector: eb.ref("excluded.vector") })),
          )
          .execute();
    });
  }

  async search(
    partition: Partition,
    owner: MemoryOwner,
    { embedder, vector, kinds, limit }: VectorQuery,
  ): Promise<readonly MemoryHit[]> {
    MemoryVector.check({ vector });
    if (kinds?.length === 0) return [];
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_memory_vector")
        .select(["item", "at", "vector"])
        .where((eb) => eb.and({ ...ownerColumns(tenant, owner), embedder }))
        .$if(kinds !== undefined, (query) => query.where("kind", "in", [...(kinds ?? [])]))
        .execute(),
    );
    const hits = rows.flatMap((row) => {
      const own = decodeVector(row.vector);
      if (own.length !== vector.length) return [];
      const score = MemoryVector.cosine(own, vector);
      return [{ owner, item: MemoryItem.parse(row.item), score, at: row.at }];
    });
    return MemoryHit.best(hits, limit);
  }

  async remove(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      for (const batch of batches(items.map(MemoryItem.key)))
        await db
          .deleteFrom("reeve_memory_vector")
          .where((eb) => eb.and({ ...ownerColumns(tenant, owner) }))
          .where("item", "in", batch)
          .execute();
    });
  }

  async list(
    partition: Partition,
    owner: MemoryOwner,
    { after, limit }: { readonly after: VectorPosition | null; readonly limit: number },
  ): Promise<readonly MemoryVector[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_memory_vector")
        .selectAll()
        .where((eb) => eb.and({ ...ownerColumns(tenant, owner) }))
        .$if(after !== null, (query) =>
          query.where((eb) =>
            eb(
              eb.refTuple("item", "embedder"),
              ">",
              eb.tuple(after ? MemoryItem.key(after.item) : "", after?.embedder ?? ""),
            ),
          ),
        )
        .orderBy("item")
        .orderBy("embedder")
        .limit(limit)
        .execute(),
    );
    return rows.map(({ item, embedder, at, vector }) => ({
      item: MemoryItem.parse(item),
      embedder,
      at,
      vector: [...decodeVector(vector)],
    }));
  }

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    await this.#access.write(partition, (db, tenant) =>
      db.deleteFrom("reeve_memory_vector").where(belongsTo(tenant, user)).execute(),
    );
  }

  async eraseSession(partition: Partition, session: SessionKey): Promise<void> {
    await this.#access.write(partition, (db, tenant) =>
      eraseSessionMemory(db, tenant, session, ["reeve_memory_vector"]),
    );
  }
}

const encodeVector = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("base64");

/** Copied, because a view of numbers must begin at a multiple of their size. */
function decodeVector(text: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}
