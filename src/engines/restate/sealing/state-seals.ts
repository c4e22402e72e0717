import type { Json, ObjectDefinition, Seal } from "#kernel";

/** Seals the state of one object. Each value is bound to type, key and name: two cannot be swapped in Restate's files. */
export class StateSeals {
  readonly #definition: ObjectDefinition;
  readonly #key: string;
  readonly #seal: Seal;

  constructor(definition: ObjectDefinition, key: string, seal: Seal) {
    this.#definition = definition;
    this.#key = key;
    this.#seal = seal;
  }

  /** The seal that opens the value of that name. */
  of(name: string): Seal {
    return this.#seal.boundTo(`state/${this.#definition.type}/${this.#key}/${name}`);
  }

  /** The seal that a new value of that name is sealed with. */
  forWriting(name: string, isErased: boolean): Seal {
    const seal = this.of(name);
    const kind = name.split("/", 1).join();
    return isErased || this.#definition.lasting?.state.includes(kind) ? seal.lasting : seal;
  }

  /** Whether the object's content is erased, as far as a call has seen: `seen` gives what it has read or written. */
  isErased(seen: (name: string) => Json | undefined): boolean {
    const mark = this.#definition.lasting?.erasedMark;
    return mark !== undefined && (seen(mark) ?? null) !== null;
  }
}
