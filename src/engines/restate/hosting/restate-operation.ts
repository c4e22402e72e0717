import { RestatePromise, type TerminalError } from "@restatedev/restate-sdk";
import { type Json, type Operation, type Outcome, type ReeveError, encodeError, type Seal } from "#kernel";
import { BusinessError } from "../client/business-error.ts";

/** Restate's result for an operation, and the function that reads it. */
export interface Arrival {
  readonly operation: RestateOperation;
  readonly outcome: () => Promise<Outcome>;
}

/** An operation around a Restate promise. Only the code that picks awaits it. */
export class RestateOperation implements Operation {
  outcome: Outcome | null = null;
  /**
   * Whether the operation is new: it was not in the journal when this attempt requested it, so its outcome is new, too.
   * The outcome of a journaled operation may have been given to an earlier attempt.
   */
  readonly isFirst: boolean;
  #arrival: RestatePromise<Arrival> | null = null;
  readonly #abort: ((reason: Error) => void) | null;
  readonly #acknowledge: () => void;

  constructor(
    isFirst: boolean,
    step: { readonly abort: (reason: Error) => void; readonly acknowledge: () => void } | null = null,
  ) {
    this.isFirst = isFirst;
    this.#abort = step?.abort ?? null;
    this.#acknowledge = step?.acknowledge ?? (() => {});
  }

  /** Begins the operation. The seal opens its failure. */
  begin<T>(engine: RestatePromise<T>, seal: Seal, read: (value: T) => Json | Promise<Json>): this {
    return this.beginPart(engine, seal, async (value: T) => ({ ok: true, value: await read(value) }));
  }

  /** Begins an operation whose value also tells whether it has failed. */
  beginPart<T>(engine: RestatePromise<T>, seal: Seal, read: (value: T) => Outcome | Promise<Outcome>): this {
    this.#arrival = engine.map((value, failure) => ({
      operation: this,
      outcome: () => outcomeOf({ value, failure }, seal, read),
    }));
    return this;
  }

  /** Ends the operation with an error, without a request. */
  refuse(error: ReeveError): this {
    const outcome = async (): Promise<Outcome> => ({ ok: false, error: encodeError(error) });
    this.#arrival = RestatePromise.resolve({ operation: this, outcome });
    return this;
  }

  get arrival(): RestatePromise<Arrival> {
    if (this.#arrival === null) throw new TypeError("an operation without a caller");
    return this.#arrival;
  }

  get isStep(): boolean {
    return this.#abort !== null;
  }

  cancel(reason: Error): void {
    if (this.outcome === null) this.#abort?.(reason);
  }

  settle(outcome: Outcome): void {
    this.outcome = outcome;
    this.#acknowledge();
  }
}

async function outcomeOf<T>(
  { value, failure }: { readonly value: T | undefined; readonly failure: TerminalError | undefined },
  seal: Seal,
  read: (value: T) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  if (failure !== undefined) return { ok: false, error: BusinessError.data(failure.message, seal) };
  // Without a failure there is a value, of any type.
  return read(value as T);
}
