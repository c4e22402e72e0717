import { randomBytes } from "node:crypto";

/** Derives the ids of spans from what they represent. The `idGenerator` of a tracer provider. */
export class DerivedIds {
  #next: { readonly traceId: string; readonly spanId: string } | null = null;

  /** Uses these ids for the span started in `body`; all other spans get random ids. */
  runWith<Result>(ids: { readonly traceId: string; readonly spanId: string }, body: () => Result): Result {
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
