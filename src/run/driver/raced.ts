import type { OpenOperations, Operation } from "#kernel";
import type { Effects } from "./effects.ts";

/**
 * Everything that can happen next to one execution, effects first. It is looked at, not copied: a turn costs the same
 * however much is open.
 */
export class Raced implements OpenOperations {
  wake: Operation | null = null;
  timer: Operation | null = null;
  cancelled: Operation | null;
  readonly #effects: Effects;

  constructor(effects: Effects, cancelled: Operation) {
    this.#effects = effects;
    this.cancelled = cancelled;
  }

  has(operation: Operation): boolean {
    const { wake, timer, cancelled } = this;
    return (
      operation === wake || operation === timer || operation === cancelled || this.#effects.has(operation)
    );
  }

  *[Symbol.iterator](): Generator<Operation> {
    yield* this.#effects.open;
    if (this.wake) yield this.wake;
    if (this.timer) yield this.timer;
    if (this.cancelled) yield this.cancelled;
  }
}
