import type { Clock, Json, CallObject, ObjectAddress, SinkDefinition } from "#kernel";
import { backoffMs } from "#base";

const backoff = { firstMs: 10, maxMs: 1_000 };

/** A message to a sink. */
interface SinkMessage extends ObjectAddress {
  readonly argument: Json;
}

/**
 * Sinks in one process: one call at a time for each key, each retried until it succeeds. The engine has no log: a sink
 * reports its own failures.
 */
export class LocalSinks {
  readonly #definitions = new Map<string, SinkDefinition>();
  readonly #clock: Clock;
  readonly #closed: AbortSignal;
  /** By type and key: resolves when all messages so far are processed. */
  readonly #tails = new Map<string, Promise<void>>();

  constructor(clock: Clock, closed: AbortSignal) {
    this.#clock = clock;
    this.#closed = closed;
  }

  define(definitions: readonly SinkDefinition[]): void {
    for (const definition of definitions) this.#definitions.set(definition.type, definition);
  }

  has(type: string): boolean {
    return this.#definitions.has(type);
  }

  take(message: SinkMessage, ask: CallObject): void {
    const { type, key } = message;
    const name = `${type}/${key}`;
    const before = this.#tails.get(name) ?? Promise.resolve();
    const tail = before.then(() => this.#retryUntilDone(message, ask));
    this.#tails.set(name, tail);
    void tail.then(() => {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    });
  }

  async #retryUntilDone({ type, key, argument }: SinkMessage, ask: CallObject): Promise<void> {
    const answers: Promise<Json>[] = [];
    for (let failures = 0; !this.#closed.aborted; failures++) {
      try {
        let asked = 0;
        const askOnce: CallObject = (...call) => (answers[asked++] ??= ask(...call));
        return await this.#definitions.get(type)?.take(key, argument, askOnce);
      } catch {
        // Retried, as in any engine. The sink has reported it.
        const at = this.#clock.now() + backoffMs(failures, backoff);
        await this.#clock.waitUntil(at, this.#closed).catch(() => undefined);
      }
    }
  }
}
