import { Json, type ObjectContext } from "#kernel";

/** The stored form of a value. */
interface RowCodec<Id, Row> {
  encode(id: Id, row: Row): Json;
  decode(id: Id, stored: Json): Row | null;
}

interface StoredRow<Row> {
  readonly stored: Row | null;
  now: Row | null;
}

/** Values of one kind, each under its own key of an object: loaded when asked for, written by `commit` if changed. */
export class StoredRows<Id extends string, Row extends object> {
  readonly #object: ObjectContext;
  readonly #keyOf: (id: Id) => string;
  readonly #codec: RowCodec<Id, Row>;
  readonly #rows = new Map<Id, StoredRow<Row>>();

  /** Without a codec, values are stored as they are. */
  constructor(object: ObjectContext, keyOf: (id: Id) => string, codec?: RowCodec<Id, Row>) {
    this.#object = object;
    this.#keyOf = keyOf;
    this.#codec = codec ?? { encode: (_, row) => Json.of(row), decode: (_, stored) => Json.as(stored) };
  }

  /** Null if there is none. */
  get(id: Id): Row | null {
    const known = this.#rows.get(id);
    if (known) return known.now;
    const stored = this.#codec.decode(id, this.#object.get(this.#keyOf(id)));
    this.#rows.set(id, { stored, now: stored });
    return stored;
  }

  /** Changes a row; null: it goes. A row that was not read before is new. */
  set(id: Id, row: Row | null): void {
    const known = this.#rows.get(id);
    if (known) known.now = row;
    else this.#rows.set(id, { stored: null, now: row });
  }

  isRead(id: Id): boolean {
    return this.#rows.has(id);
  }

  /** The keys of those that are not read yet. */
  missing(ids: readonly Id[]): readonly string[] {
    return ids.filter((id) => !this.#rows.has(id)).map(this.#keyOf);
  }

  /** The rows that were read and are there. */
  *rows(): Generator<readonly [Id, Row]> {
    for (const [id, { now }] of this.#rows) if (now) yield [id, now];
  }

  /** The rows that differ from what is stored. */
  *changes(): Generator<{ readonly id: Id; readonly stored: Row | null; readonly now: Row | null }> {
    for (const [id, { stored, now }] of this.#rows) if (now !== stored) yield { id, stored, now };
  }

  commit(): void {
    for (const { id, now } of this.changes()) {
      if (now) this.#object.set(this.#keyOf(id), this.#codec.encode(id, now));
      else this.#object.clear(this.#keyOf(id));
    }
  }
}
