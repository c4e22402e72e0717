import type { Clock, Json, ObjectAsk, SinkDefinition } from "#kernel";

const firstPauseMs = 10;
const longestPauseMs = 1_000;

/** Sinks in one process: for each key one call after the other, each tried until it succeeds. */
export class LocalSinks {
  readonly #definitions = new Map<string, SinkDefinition>();
  readonly #clock: Clock;
  readonly #closed: AbortSignal;
  /** By type and key: resolves when everything taken so far is done. */
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

  take(type: string, key: string, argument: Json, ask: ObjectAsk): void {
    const name = `${type}/${key}`;
    const before = this.#tails.get(name) ?? Promise.resolve();
    const tail = before.then(() => this.#untilDone(type, key, argument, ask));
    this.#tails.set(name, tail);
    void tail.then(() => {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    });
  }

  async #untilDone(type: string, key: string, argument: Json, ask: ObjectAsk): Promise<void> {
    const answers: Promise<Json>[] = [];
    for (let pauseMs = firstPauseMs; !this.#closed.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        let asked = 0;
        const askOnce: ObjectAsk = (...call) => (answers[asked++] ??= ask(...call));
        return await this.#definitions.get(type)?.take(key, argument, askOnce);
      } catch {
        // Tried again, as any engine does.
        await this.#clock.waitUntil(this.#clock.now() + pauseMs, this.#closed).catch(() => undefined);
      }
    }
  }
}
