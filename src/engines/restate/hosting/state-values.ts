import type { Serde } from "@restatedev/restate-sdk";
import { isJsonObject, type Json, type ObjectDefinition, type StoredTogether } from "#kernel";
import { maxValueBytes, sealJson, stateSerde } from "../sealing/sealed-serde.ts";
import type { StateSeals } from "../sealing/state-seals.ts";

/** A value of the state, as Restate stores it. Null: it is removed. */
interface SealedValue {
  readonly name: string;
  readonly bytes: Uint8Array | null;
}

/** Reads a stored value. Null: absent. */
type ReadStored = (name: string, serde: Serde<Json>) => Promise<Json>;

/*
 * The state of one object, as one call knows it.
 *
 * Every read and write of a value is an entry in the journal of the call, and entries cost more than bytes. So the values
 * that the definition stores `together` are one value in Restate: `{ together }`, with a field for each name.
 *
 * 1. Callers know names only, and not which of them are stored together.
 * 2. If the value under which others are stored is absent, they are absent.
 * 3. Values that were written apart stay apart: by an earlier release, or because together they are too large.
 */

/** The values of one object's state that a call has fetched, by name. */
export class StateValues {
  readonly #together: StoredTogether | null;
  readonly #seals: StateSeals;
  /** Null: absent. */
  readonly #values = new Map<string, Json>();
  /** Whether the values that belong together are one value. Null: not known yet. */
  #isTogether: boolean | null = null;

  constructor(definition: ObjectDefinition, seals: StateSeals) {
    this.#together = definition.together ?? null;
    this.#seals = seals;
  }

  /** Returns a fetched value. Null if absent. Undefined if it was not fetched. */
  get(name: string): Json | undefined {
    if (this.#isTogether && this.#isMember(name)) return this.#values.get(name) ?? null;
    return this.#values.get(name);
  }

  /** Returns the stored values to fetch before these names are known, each once. */
  listMissing(names: readonly string[]): readonly string[] {
    const missing = new Set<string>();
    for (const name of names) {
      if (this.#values.has(name)) continue;
      if (this.#isTogether === false || !this.#together?.has(name)) missing.add(name);
      else if (this.#isTogether === null) missing.add(this.#together.under);
    }
    return [...missing];
  }

  /** Returns the stored values to fetch before a value is written: those that are stored as one are written as one. */
  listMissingToWrite(name: string): readonly string[] {
    const isUnknown = this.#together !== null && this.#isTogether === null && this.#isMember(name);
    return isUnknown ? [this.#together.under] : [];
  }

  /** Returns the stored values to fetch before all names are known. */
  listMissingToList(stored: readonly string[]): readonly string[] {
    return this.#isTogether === null ? stored.filter((name) => name === this.#together?.under) : [];
  }

  /** Fetches stored values. They are requested together and awaited in order, so that every try is replayed alike. */
  async fetch(readStored: ReadStored, names: readonly string[], before?: () => Promise<void>): Promise<void> {
    const reads = names.map((name) => readStored(name, stateSerde(this.#seals.getSeal(name))));
    await before?.();
    for (const [index, read] of reads.entries()) this.#take(names[index] ?? "", await read);
  }

  #take(name: string, stored: Json): void {
    if (name !== this.#together?.under) return void this.#values.set(name, stored);
    const members = isJsonObject(stored) && isJsonObject(stored["together"]) ? stored["together"] : null;
    this.#isTogether = stored === null || members !== null;
    this.#values.set(name, members ? null : stored);
    for (const [member, value] of Object.entries(members ?? {})) this.#values.set(member, value ?? null);
  }

  /** Returns the names of values, given those of stored values. */
  listNames(stored: readonly string[]): ReadonlySet<string> {
    const names = new Set(stored);
    if (this.#isTogether)
      for (const [name, value] of this.#values) if (value !== null && this.#isMember(name)) names.add(name);
    return names;
  }

  /** Returns the stored values that written ones change, sealed. */
  seal(written: ReadonlyMap<string, Json>, isErased: boolean): readonly SealedValue[] {
    const toSealed = (name: string, value: Json): SealedValue => {
      const bytes = value === null ? null : sealJson(this.#seals.forWriting(name, isErased), value);
      return { name, bytes };
    };
    const apart: SealedValue[] = [];
    let isChanged = false;
    for (const [name, value] of written) {
      if (this.#isTogether !== false && this.#isMember(name)) isChanged = true;
      else apart.push(toSealed(name, value));
    }
    if (!this.#together || !isChanged) return apart;
    const members = this.#listMembers(written);
    const whole = members.length === 0 ? null : { together: Object.fromEntries(members) };
    const sealed = toSealed(this.#together.under, whole);
    if ((sealed.bytes?.length ?? 0) <= maxValueBytes) return [...apart, sealed];
    return [...apart, ...members.map(([name, value]) => toSealed(name, value))];
  }

  /** Returns the values that are stored together, after these writes. */
  #listMembers(written: ReadonlyMap<string, Json>): readonly (readonly [string, Json])[] {
    const values = new Map([...this.#values, ...written]);
    return [...values].filter(([name, value]) => value !== null && this.#isMember(name));
  }

  #isMember(name: string): boolean {
    return this.#together !== null && (name === this.#together.under || this.#together.has(name));
  }
}
