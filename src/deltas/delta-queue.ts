import { DeltasCutError } from "#kernel";
import { sizeOfUpdate, type RunDelta } from "./run-delta.ts";

/** Maximum number of pieces that a subscriber may lag behind before it is cut off. */
const mostPieces = 10_000;
const mostText = 1_000_000;

/** The bounded queue of one subscriber. Above the bound, the subscriber is cut off. */
export class DeltaQueue {
  readonly #over = new AbortController();
  #waiting: RunDelta[] = [];
  #text = 0;
  #end: { readonly error: Error | null } | null = null;
  #wake = Promise.withResolvers<void>();

  /** Aborted once no more pieces are taken. */
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

  /** Ends the queue with an error, after the pieces that the subscriber has taken already. */
  fail(error: Error): void {
    if (this.#end) return;
    this.#waiting = [];
    this.#finish(error);
  }

  /** Ends the queue. The subscriber gets the waiting pieces, and no more. */
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
