import { NotFoundError } from "#kernel";

/** Returns the entries of a record, with the type of its keys. */
export function entries<Key extends string, Row>(
  record: Readonly<Record<Key, Row>>,
): readonly (readonly [Key, Row])[] {
  const all: (readonly [Key, Row])[] = [];
  for (const key in record) all.push([key, record[key]]);
  return all;
}

/**
 * Creates an empty record without a prototype. With a prototype, V8 creates a hidden class for every new set of keys,
 * which is many times slower if keys are ids.
 */
export function noRows<Key extends string, Row>(): Record<Key, Row> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- filled by the caller
  return Object.create(null) as Record<Key, Row>;
}

/** Creates a record with one row. */
export function oneRow<Key extends string, Row>(key: Key, row: Row): Record<Key, Row> {
  const rows = noRows<Key, Row>();
  rows[key] = row;
  return rows;
}

function copyOf<Key extends string, Row>(record: Readonly<Record<Key, Row>>): Record<Key, Row> {
  const copy = noRows<Key, Row>();
  for (const key in record) copy[key] = record[key];
  return copy;
}

/**
 * A record that is copied once, at the first change. Rows that do not change keep their identity. A table with a source
 * reads missing rows from there.
 */
export class Table<Key extends string, Row extends object> {
  readonly #what: string;
  readonly #source: ((key: Key) => Row | undefined) | undefined;
  #rows: Readonly<Record<Key, Row>>;
  #copy: Record<Key, Row> | null = null;
  /** Deleted rows. The source may still hold them. */
  #deleted: Set<Key> | null = null;

  constructor(what: string, rows: Readonly<Record<Key, Row>>, source?: (key: Key) => Row | undefined) {
    this.#what = what;
    this.#rows = rows;
    this.#source = source;
  }

  /** The rows that the record holds, or that have changed. */
  get rows(): Readonly<Record<Key, Row>> {
    return this.#rows;
  }

  get(key: Key): Row | undefined {
    const row = this.#rows[key];
    return row ?? (this.isKnown(key) ? undefined : this.#source?.(key));
  }

  /** Whether a row's presence or absence is known without the source. */
  isKnown(key: Key): boolean {
    return key in this.#rows || (this.#deleted?.has(key) ?? false);
  }

  /** Returns a row. @throws NotFoundError if the host has not loaded a row that the command needs. */
  need(key: Key): Row {
    const row = this.#rows[key] ?? this.get(key);
    if (!row) throw new NotFoundError({ what: this.#what, id: key });
    return row;
  }

  put(key: Key, row: Row): void {
    this.#writable()[key] = row;
    this.#deleted?.delete(key);
  }

  patch(key: Key, change: Partial<Row>): void {
    const row = this.need(key);
    for (const field in change) {
      if (row[field] !== change[field]) return this.put(key, { ...row, ...change });
    }
  }

  delete(key: Key): void {
    delete this.#writable()[key];
    if (this.#source) (this.#deleted ??= new Set()).add(key);
  }

  #writable(): Record<Key, Row> {
    this.#copy ??= copyOf(this.#rows);
    this.#rows = this.#copy;
    return this.#copy;
  }
}
