import { decodeError, type Json, type Operation } from "#kernel";

/** Effects of one run that may be open at once; more stand in line. */
const maxOpen = 64;

interface Promised {
  readonly issue: () => Operation;
  readonly resolve: (value: Json) => void;
  readonly reject: (error: Error) => void;
}

/** What a run has begun and what it will begin: operations of its engine, handed to code as native promises. */
export class Effects {
  readonly #open = new Map<Operation, Promised>();
  readonly #line: Promised[] = [];

  /** Those that have begun and not ended, oldest first. */
  get open(): Iterable<Operation> {
    return this.#open.keys();
  }

  /** Has this one begun and not ended? */
  has(operation: Operation): boolean {
    return this.#open.has(operation);
  }

  /** Has anything begun and not ended? */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Is anything in line? */
  get hasLine(): boolean {
    return this.#line.length > 0;
  }

  /** Is nothing open, and nothing in line? */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#line.length === 0;
  }

  /** Puts one in line. It begins with the next `begin`. To be awaited at once. */
  add(issue: () => Operation): Promise<Json> {
    return new Promise((resolve, reject) => this.#line.push({ issue, resolve, reject }));
  }

  /** Begins those in line, as far as there is room. One that cannot even be asked for fails at once. */
  begin(): void {
    while (this.#open.size < maxOpen) {
      const next = this.#line.shift();
      if (!next) return;
      try {
        this.#open.set(next.issue(), next);
      } catch (error) {
        next.reject(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  /** Tells the code what became of one. False if it is none of these. */
  settle(operation: Operation): boolean {
    const promised = this.#open.get(operation);
    if (!promised || !operation.outcome) return false;
    this.#open.delete(operation);
    const { outcome } = operation;
    if (outcome.ok) promised.resolve(outcome.value);
    else promised.reject(decodeError(outcome.error));
    return true;
  }

  /** Asks everything that is open to stop. */
  abort(error: Error): void {
    for (const operation of this.#open.keys()) operation.cancel(error);
  }

  /** Those in line never begin. */
  dismiss(error: Error): void {
    for (const { reject } of this.#line.splice(0)) reject(error);
  }

  /** Those that are open and do not end are left behind. */
  abandon(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
