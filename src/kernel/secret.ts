const shown = "[secret]";

/**
 * A value that shows itself to nobody: printed, logged, joined to a text, put into JSON, and so into a journal, an event,
 * a prompt or a store, it is `[secret]`. What was written that way cannot be read back.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
    Object.freeze(this);
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
