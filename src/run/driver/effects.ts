import { decodeError, type Json, type Operation } from "#kernel";

/** Maximum number of open effects of one run. Further ones are queued. */
const maxOpen = 64;

interface PromisedEffect {
  readonly issue: () => Operation;
  readonly resolve: (value: Json) => void;
  readonly reject: (error: Error) => void;
}

/** The open and queued effects of a run: operations of its engine, given to code as native promises. */
export class Effects {
  readonly #open = new Map<Operation, PromisedEffect>();
  readonly #line: PromisedEffect[] = [];

  /** The open operations, oldest first. */
  get open(): Iterable<Operation> {
    return this.#open.keys();
  }

  /** Whether an operation is open. */
  has(operation: Operation): boolean {
    return this.#open.has(operation);
  }

  /** Whether any operation is open. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Whether anything is queued. */
  get hasLine(): boolean {
    return this.#line.length > 0;
  }

  /** Whether nothing is open or queued. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#line.length === 0;
  }

  /** Queues an operation. It begins with the next `begin`. The caller must await the promise immediately. */
  add(issue: () => Operation): Promise<Json> {
    return new Promise((resolve, reject) => this.#line.push({ issue, resolve, reject }));
  }

  /** Begins queued operations, as far as there is room. One that cannot be issued fails immediately. */
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

  /** Settles the promise of an operation. Returns false if it is not one of these. */
  settle(operation: Operation): boolean {
    const promised = this.#open.get(operation);
    if (!promised || !operation.outcome) return false;
    this.#open.delete(operation);
    const { outcome } = operation;
    if (outcome.ok) promised.resolve(outcome.value);
    else promised.reject(decodeError(outcome.error));
    return true;
  }

  /** Asks all open operations to stop. */
  abort(error: Error): void {
    for (const operation of this.#open.keys()) operation.cancel(error);
  }

  /** Rejects all queued operations. */
  dismiss(error: Error): void {
    for (const { reject } of this.#line.splice(0)) reject(error);
  }

  /** Rejects all open operations that have not ended. */
  abandon(error: Error): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }
}
