import { RestatePromise, type TerminalError } from "@restatedev/restate-sdk";
import { type Json, type Operation, type Outcome, type ReeveError, encodeError, type Seal } from "#kernel";
import { BusinessError } from "../client/business-error.ts";

/** What Restate says about an operation, and how to read it. */
export interface Arrival {
  readonly operation: RestateOperation;
  readonly outcome: () => Promise<Outcome>;
}

/** An engine promise, kept where only the one who picks awaits it. */
export class RestateOperation implements Operation {
  outcome: Outcome | null = null;
  /**
   * Whether the operation is new: it was not in the journal when this attempt asked for it. So is its outcome then. The
   * outcome of an operation that was there may have been given to an attempt before.
   */
  readonly isFirst: boolean;
  #arrival: RestatePromise<Arrival> | null = null;
  readonly #controller: AbortController | null;
  readonly #acknowledge: () => void;

  constructor(
    isFirst: boolean,
    step: { readonly controller: AbortController; readonly acknowledge: () => void } | null = null,
  ) {
    this.isFirst = isFirst;
    this.#controller = step?.controller ?? null;
    this.#acknowledge = step?.acknowledge ?? (() => {});
  }

  /** It has been asked for. The seal opens its failure. */
  begin<T>(engine: RestatePromise<T>, seal: Seal, read: (value: T) => Json | Promise<Json>): this {
    return this.beginPart(engine, seal, async (value: T) => ({ ok: true, value: await read(value) }));
  }

  /** The same, where the value says also whether the operation has failed. */
  beginPart<T>(engine: RestatePromise<T>, seal: Seal, read: (value: T) => Outcome | Promise<Outcome>): this {
    this.#arrival = engine.map((value, failure) => ({
      operation: this,
      outcome: () => outcomeOf({ value, failure }, seal, read),
    }));
    return this;
  }

  /** It will not be asked for. */
  refuse(error: ReeveError): this {
    const outcome = async (): Promise<Outcome> => ({ ok: false, error: encodeError(error) });
    this.#arrival = RestatePromise.resolve({ operation: this, outcome });
    return this;
  }

  get arrival(): RestatePromise<Arrival> {
    if (this.#arrival === null) throw new TypeError("an operation that nobody has asked for");
    return this.#arrival;
  }

  get isStep(): boolean {
    return this.#controller !== null;
  }

  cancel(reason: Error): void {
    if (this.outcome === null) this.#controller?.abort(reason);
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
  // Where there is no failure there is a value, of whatever type.
  return read(value as T);
}
