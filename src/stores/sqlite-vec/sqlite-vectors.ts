import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { getLoadablePath } from "sqlite-vec";
import {
  MemoryItem,
  MemoryOwner,
  MemoryVector,
  Partition,
  type MemoryHit,
  type SessionKey,
  type UserId,
  type VectorPosition,
  type VectorQuery,
  type VectorStore,
} from "#kernel";

/** Options of {@link sqliteVectorStore}. */
export interface SqliteVectorStoreOptions {
  /** Path of the database file, created if missing. Must not be that of a `sqliteStore`. */
  readonly path: string;
}

/** A store of vectors that is closed after use. */
export interface SqliteVectorStore extends VectorStore, AsyncDisposable {}

/** Opens a store of vectors in one file. */
export function openSqliteVectorStore({ path }: SqliteVectorStoreOptions): SqliteVectorStore {
  if (path !== ":memory:") createPrivate(path);
  const file = new DatabaseSync(path, { allowExtension: true, timeout: 5_000 });
  try {
    file.loadExtension(getLoadablePath());
    file.enableLoadExtension(false);
    file.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on;
      create table if not exists reeve_vector (tenant_id text not null, owner text not null, item text not null,
        embedder text not null, kind text not null, at integer not null, vector blob not null,
        primary key (tenant_id, owner, item, embedder))`);
  } catch (error) {
    file.close();
    throw error;
  }
  return new SqliteVectors(file);
}

/** Creates a file that only its owner can read; SQLite gives its other files the same mode. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

class SqliteVectors implements SqliteVectorStore {
  readonly #file: DatabaseSync;

  constructor(file: DatabaseSync) {
    this.#file = file;
  }

  async put(partition: Partition, owner: MemoryOwner, vectors: readonly MemoryVector[]): Promise<void> {
    vectors.forEach(MemoryVector.check);
    this.#transaction(() => {
      const insert = this.#file.prepare("insert or replace into reeve_vector values (?, ?, ?, ?, ?, ?, ?)");
      for (const { item, embedder, at, vector } of vectors)
        insert.run(
          ...ownOf(partition, owner),
          MemoryItem.key(item),
          embedder,
          item.kind,
          at,
          encodeBytes(vector),
        );
    });
  }

  async search(
    partition: Partition,
    owner: MemoryOwner,
    { embedder, vector, kinds, limit }: VectorQuery,
  ): Promise<readonly MemoryHit[]> {
    MemoryVector.check({ vector });
    const wanted = encodeBytes(vector);
    const rows = this.#file
      .prepare(
        `select item, at, 1 - vec_distance_cosine(vector, ?) as score from reeve_vector
         where tenant_id = ? and owner = ? and embedder = ? and length(vector) = ?
           and (? is null or kind in (select value from json_each(?)))
         order by score desc, at desc, item limit ?`,
      )
      .all(
        wanted,
        ...ownOf(partition, owner),
        embedder,
        wanted.byteLength,
        ...repeatValue(kinds === undefined ? null : JSON.stringify(kinds)),
        limit,
      );
    return rows.map(({ item, at, score }) => ({
      owner,
      item: MemoryItem.parse(String(item)),
      score: Number(score),
      at: Number(at),
    }));
  }

  async remove(partition: Partition, owner: MemoryOwner, items: readonly MemoryItem[]): Promise<void> {
    this.#transaction(() => {
      const remove = this.#file.prepare(
        "delete from reeve_vector where tenant_id = ? and owner = ? and item = ?",
      );
      for (const item of items) remove.run(...ownOf(partition, owner), MemoryItem.key(item));
    });
  }

  async list(
    partition: Partition,
    owner: MemoryOwner,
    { after, limit }: { readonly after: VectorPosition | null; readonly limit: number },
  ): Promise<readonly MemoryVector[]> {
    const rows = this.#file
      .prepare(
        `select item, embedder, at, vector from reeve_vector
         where tenant_id = ? and owner = ? and (item, embedder) > (?, ?) order by item, embedder limit ?`,
      )
      .all(...ownOf(partition, owner), after ? MemoryItem.key(after.item) : "", after?.embedder ?? "", limit);
    return rows.map(({ item, embedder, at, vector }) => ({
      item: MemoryItem.parse(String(item)),
      embedder: String(embedder),
      at: Number(at),
      vector: vector instanceof Uint8Array ? decodeBytes(vector) : [],
    }));
  }

  async eraseUser(partition: Partition, user: UserId | null): Promise<void> {
    const sessions = MemoryOwner.sessionsPrefix(user);
    this.#file
      .prepare("delete from reeve_vector where tenant_id = ? and (owner = ? or owner >= ? and owner < ?)")
      .run(...ownOf(partition, MemoryOwner.user(user)), sessions, toRangeEnd(sessions));
  }

  async eraseSession(partition: Partition, session: SessionKey): Promise<void> {
    const episodes = MemoryItem.episodesPrefix(session.id);
    this.#transaction(() => {
      this.#file
        .prepare("delete from reeve_vector where tenant_id = ? and owner = ?")
        .run(...ownOf(partition, MemoryOwner.session(session)));
      this.#file
        .prepare("delete from reeve_vector where tenant_id = ? and owner = ? and item >= ? and item < ?")
        .run(...ownOf(partition, MemoryOwner.user(session.userId)), episodes, toRangeEnd(episodes));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#file.close();
  }

  #transaction(work: () => void): void {
    this.#file.exec("begin immediate");
    try {
      work();
      this.#file.exec("commit");
    } catch (error) {
      this.#file.exec("rollback");
      throw error;
    }
  }
}

const ownOf = (partition: Partition, owner: MemoryOwner): [string, string] => [
  Partition.key(partition),
  MemoryOwner.key(owner),
];

const repeatValue = (value: SQLInputValue): [SQLInputValue, SQLInputValue] => [value, value];

/** Texts compare byte by byte, and the byte after a space is `!`. */
const toRangeEnd = (prefix: string): string => `${prefix.slice(0, -1)}!`;

const encodeBytes = (vector: readonly number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(vector).buffer);

/** Copied, because a view of numbers must begin at a multiple of their size. */
const decodeBytes = (bytes: Uint8Array): readonly number[] => [
  ...new Float32Array(Uint8Array.from(bytes).buffer, 0, Math.floor(bytes.byteLength / 4)),
];
