const shown = "[secret]";
/** Minimum length of a secret that is searched for in texts. A shorter one may occur in harmless text. */
const shortest = 6;
/** Secrets of this process, so that error messages can be cleaned of them. Held weakly: a secret without another holder is forgotten. */
const known = new Set<WeakRef<Secret<unknown>>>();
const forgotten = new FinalizationRegistry<WeakRef<Secret<unknown>>>((secret) => known.delete(secret));

/**
 * A value that hides itself. Printed, logged, concatenated or encoded as JSON, it becomes `[secret]`. So it never
 * reaches a journal, event, prompt or store.
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

  /** Returns the value, for the line of code that passes it on. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  /** Returns the placeholder, even if a number is requested. */
  [Symbol.toPrimitive](): string {
    return shown;
  }

  /** Returns the placeholder, for `console.log` and other printers that follow Node's inspection. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return shown;
  }
}

/** Wraps a value in a {@link Secret}. */
export const secret = <T>(value: T): Secret<T> => new Secret(value);

/** Returns the secrets of this process that are texts. */
export function knownSecrets(): readonly string[] {
  return [...known].flatMap((made) => {
    const value = made.deref()?.reveal();
    return typeof value === "string" ? [value] : [];
  });
}
