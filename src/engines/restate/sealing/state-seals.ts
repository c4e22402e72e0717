import type { Json, ObjectDefinition, Seal } from "#kernel";

/**
 * The seals of one object's state. Each value is bound to type, key and name, so two values cannot be swapped in
 * Restate's files.
 */
export class StateSeals {
  readonly #definition: ObjectDefinition;
  readonly #key: string;
  readonly #seal: Seal;

  constructor(definition: ObjectDefinition, key: string, seal: Seal) {
    this.#definition = definition;
    this.#key = key;
    this.#seal = seal;
  }

  /** Returns the seal that opens the value of that name. */
  getSeal(name: string): Seal {
    return this.#seal.boundTo(`state/${this.#definition.type}/${this.#key}/${name}`);
  }

  /** Returns the seal for a new value of that name. */
  forWriting(name: string, isErased: boolean): Seal {
    const seal = this.getSeal(name);
    const kind = name.split("/", 1).join();
    return isErased || this.#definition.lasting?.state.includes(kind) ? seal.lasting : seal;
  }

  /**
   * Whether the object's content is erased, as far as the call knows. `seen` returns the values that it has read or
   * written.
   */
  isErased(getSeen: (name: string) => Json | undefined): boolean {
    const mark = this.#definition.lasting?.erasedMark;
    return mark !== undefined && (getSeen(mark) ?? null) !== null;
  }
}
