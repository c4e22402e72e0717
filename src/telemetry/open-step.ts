import type { Attributes } from "@opentelemetry/api";
import { type AttemptId, type Micros, Money } from "#kernel";
import { reeve } from "./conventions.ts";
import type { OpenSpan } from "./open-span.ts";

/** The known failure of a step's last attempt. */
interface Failure {
  readonly at: number;
  readonly type: string;
  readonly message?: string | undefined;
}

/** The span of a step that has begun: a model or tool call, with every try it takes. */
export class OpenStep {
  readonly #span: OpenSpan;
  /** Attempts without a reported outcome. */
  readonly #silent = new Set<string>();
  #attempts = 0;
  #cost: Micros = 0;
  #failure: Failure | null = null;

  constructor(span: OpenSpan) {
    this.#span = span;
  }

  /** Begins an attempt. Returns how many earlier attempts were lost, with unknown outcome. */
  begin(attempt: AttemptId | null, at: number): number {
    const lost = this.#silent.size;
    this.#silent.clear();
    if (++this.#attempts > 1)
      this.#span.note("attempt", attempt === null ? {} : { [reeve.attempt]: attempt }, at);
    if (lost > 0) this.#span.set({ [reeve.inDoubt]: true });
    if (attempt !== null) this.#silent.add(attempt);
    return lost;
  }

  settle(attempt: AttemptId, cost: Micros, isInDoubt: boolean): void {
    this.#silent.delete(attempt);
    this.#cost += cost;
    if (isInDoubt) this.#span.set({ [reeve.inDoubt]: true });
  }

  set(attributes: Attributes): void {
    this.#span.set(attributes);
  }

  note(name: string, attributes: Attributes, at: number): void {
    this.#span.note(name, attributes, at);
  }

  /** Records a failed attempt. A retry may follow. */
  fail(attempt: AttemptId | null, failure: Failure, attributes: Attributes): void {
    if (attempt !== null) this.#silent.delete(attempt);
    this.#span.set(attributes);
    this.#failure = failure;
  }

  succeed(at: number, attributes: Attributes): void {
    this.#span.set(attributes);
    this.#end(at);
  }

  /** Ends the step: no more events follow. */
  close(at: number): void {
    const { type, message, at: failedAt }: Failure = this.#failure ?? { type: "unknown", at };
    if (!this.#failure) this.#span.set({ [reeve.inDoubt]: true });
    this.#span.fail(type, message);
    this.#end(failedAt);
  }

  #end(at: number): void {
    this.#span.set({ [reeve.attempts]: this.#attempts });
    if (this.#cost > 0) this.#span.set({ [reeve.costUsd]: Money.usd(this.#cost) });
    this.#span.end(at);
  }
}
