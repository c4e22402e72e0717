import { DeltasCutError } from "#kernel";
import { sizeOfUpdate, type RunDelta } from "./run-delta.ts";

/** How far a reader may be behind before it is cut. */
const mostPieces = 10_000;
const mostText = 1_000_000;

/** What waits for one reader: never more than a bound, then the reader is cut. */
export class DeltaQueue {
  readonly #over = new AbortController();
  #waiting: RunDelta[] = [];
  #text = 0;
  #end: { readonly error: Error | null } | null = null;
  #wake = Promise.withResolvers<void>();

  /** Aborted once nothing more is taken. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  push(delta: RunDelta): void {
    if (this.#end) return;
    this.#waiting.push(delta);
    this.#text += delta.text.length + sizeOfUpdate(delta);
    if (this.#waiting.length > mostPieces || this.#text > mostText)
      return this.fail(new DeltasCutError({ reason: "too-slow" }));
    this.#wake.resolve();
  }

  /** The reader gets the error after what it has taken already. */
  fail(error: Error): void {
    if (this.#end) return;
    this.#waiting = [];
    this.#finish(error);
  }

  /** The reader gets what waits, and no more. */
  end(): void {
    if (!this.#end) this.#finish(null);
  }

  async *read(): AsyncGenerator<RunDelta, void> {
    try {
      for (;;) {
        const batch = this.#waiting;
        this.#waiting = [];
        this.#text = 0;
        yield* batch;
        if (this.#end?.error) throw this.#end.error;
        if (this.#waiting.length > 0) continue;
        if (this.#end) return;
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    } finally {
      this.end();
    }
  }

  #finish(error: Error | null): void {
    this.#end = { error };
    this.#wake.resolve();
    this.#over.abort();
  }
}
