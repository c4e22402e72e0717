import { NotFoundError } from "#kernel";

/** The entries of a record, with the type of its keys. */
export function entries<Key extends string, Row>(
  record: Readonly<Record<Key, Row>>,
): readonly (readonly [Key, Row])[] {
  const all: (readonly [Key, Row])[] = [];
  for (const key in record) all.push([key, record[key]]);
  return all;
}

/**
 * A record without rows, to be filled. Without a prototype, because an object that has one gets a class of its own for
 * every new set of keys: where keys are ids that takes many times as long.
 */
export function noRows<Key extends string, Row>(): Record<Key, Row> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- filled by whoever asks
  return Object.create(null) as Record<Key, Row>;
}

/** A record with one row. */
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
 * A record that is copied at the first change, once. Rows that do not change keep their identity. A table with a source
 * reads the rows from there that its record does not hold.
 */
export class Table<Key extends string, Row extends object> {
  readonly #what: string;
  readonly #source: ((key: Key) => Row | undefined) | undefined;
  #rows: Readonly<Record<Key, Row>>;
  #copy: Record<Key, Row> | null = null;
  /** Rows that are gone, whatever the source says. */
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

  /** Whether the table knows a row, or that there is none, without its source. */
  isKnown(key: Key): boolean {
    return key in this.#rows || (this.#deleted?.has(key) ?? false);
  }

  /** @throws NotFoundError where the host has not loaded what the command needs. */
  need(key: Key): Row {
    const row = this.get(key);
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
