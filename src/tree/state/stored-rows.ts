import { Json, type ObjectContext } from "#kernel";
import { noRows } from "#ledger";

/** Reads and writes values of one type. */
interface RowAccess<Id, Row> {
  read(object: ObjectContext, id: Id): Row | null;
  write(object: ObjectContext, id: Id, row: Row): void;
}

/** A row that differs from its stored value. Null: absent. */
interface RowChange<Id, Row> {
  readonly id: Id;
  readonly stored: Row | null;
  readonly now: Row | null;
}

interface StoredRow<Row> {
  readonly stored: Row | null;
  now: Row | null;
}

/** Values of one type, each under its own key of an object: loaded on demand, written by `commit` if changed. */
export class StoredRows<Id extends string, Row extends object> {
  readonly #object: ObjectContext;
  readonly #keyOf: (id: Id) => string;
  readonly #access: RowAccess<Id, Row>;
  readonly #rows = new Map<Id, StoredRow<Row>>();
  /** Cache of the rows that were read and exist. Null: must be rebuilt. */
  #present: Readonly<Record<Id, Row>> | null = null;

  /** Without `access`, values are stored unchanged. */
  constructor(object: ObjectContext, keyOf: (id: Id) => string, access?: RowAccess<Id, Row>) {
    this.#object = object;
    this.#keyOf = keyOf;
    this.#access = access ?? {
      read: (_, id) => Json.as(object.get(keyOf(id))),
      write: (_, id, row) => object.set(keyOf(id), Json.of(row)),
    };
  }

  /** Returns a row. Null if absent. */
  get(id: Id): Row | null {
    const known = this.#rows.get(id);
    if (known) return known.now;
    const stored = this.#access.read(this.#object, id);
    this.#rows.set(id, { stored, now: stored });
    if (stored) this.#present = null;
    return stored;
  }

  /** Changes a row. Null: removes it. A row that was not read before is new. */
  set(id: Id, row: Row | null): void {
    this.#present = null;
    const known = this.#rows.get(id);
    if (known) known.now = row;
    else this.#rows.set(id, { stored: null, now: row });
  }

  isRead(id: Id): boolean {
    return this.#rows.has(id);
  }

  /** Returns the keys of rows that are not read yet. */
  listMissingKeys(ids: readonly Id[]): readonly string[] {
    return ids.filter((id) => !this.#rows.has(id)).map(this.#keyOf);
  }

  /** Returns the rows that were read and exist. */
  get present(): Readonly<Record<Id, Row>> {
    if (this.#present) return this.#present;
    const present = noRows<Id, Row>();
    for (const [id, { now }] of this.#rows) if (now) present[id] = now;
    return (this.#present = present);
  }

  /** Returns the rows that differ from their stored values. */
  changes(): readonly RowChange<Id, Row>[] {
    const changes: RowChange<Id, Row>[] = [];
    for (const [id, { stored, now }] of this.#rows) if (now !== stored) changes.push({ id, stored, now });
    return changes;
  }

  commit(): void {
    for (const [id, { stored, now }] of this.#rows) {
      if (now === stored) continue;
      if (now) this.#access.write(this.#object, id, now);
      else this.#object.clear(this.#keyOf(id));
    }
  }
}
