import { randomBytes } from "node:crypto";

/** Gives spans the ids that follow from what they show. The `idGenerator` of a tracer provider. */
export class DerivedIds {
  #next: { readonly traceId: string; readonly spanId: string } | null = null;

  /** What is started in `body` gets these ids; everything else gets ids at random. */
  during<Result>(ids: { readonly traceId: string; readonly spanId: string }, body: () => Result): Result {
    this.#next = ids;
    try {
      return body();
    } finally {
      this.#next = null;
    }
  }

  generateTraceId = (): string => this.#next?.traceId ?? randomBytes(16).toString("hex");

  generateSpanId = (): string => this.#next?.spanId ?? randomBytes(8).toString("hex");
}
