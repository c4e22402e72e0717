const shown = "[secret]";
/** A shorter text may be a part of an innocent one. */
const shortest = 6;
/** Secrets of this process, so that error messages can be cleaned of them. Held weakly: a secret without another holder is forgotten. */
const known = new Set<WeakRef<Secret<unknown>>>();
const forgotten = new FinalizationRegistry<WeakRef<Secret<unknown>>>((secret) => known.delete(secret));

/**
 * A value that shows itself to nobody: printed, logged, joined to a text, put into JSON, and so into a journal, an event,
 * a prompt or a store, it is `[secret]`. What was written that way cannot be read back.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
    Object.freeze(this);
    if (typeof value !== "string" || value.length < shortest) return;
    const made = new WeakRef<Secret<unknown>>(this);
    known.add(made);
    forgotten.register(this, made);
  }

  /** The value itself, for the line of code that hands it over. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  /** Also where a number is asked for. */
  [Symbol.toPrimitive](): string {
    return shown;
  }

  /** For `console.log`, and whatever else prints like Node. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return shown;
  }
}

/** Keeps a value to itself. */
export const secret = <T>(value: T): Secret<T> => new Secret(value);

/** Returns the values of the secrets that this process holds, as far as they are text. */
export function knownSecrets(): readonly string[] {
  return [...known].flatMap((made) => {
    const value = made.deref()?.reveal();
    return typeof value === "string" ? [value] : [];
  });
}
