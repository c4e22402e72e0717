import { TooManyStepsError, type ExecutionPrimitives } from "#kernel";

/** Number of steps from which a warning is logged: a replay takes seconds. */
const manySteps = 10_000;
const mostSteps = 50_000;

/** Names the steps of one execution: each by its kind and its position. */
export class StepNames {
  readonly #primitives: ExecutionPrimitives;
  #count = 0;
  #last: string | null = null;

  constructor(primitives: ExecutionPrimitives) {
    this.#primitives = primitives;
  }

  get count(): number {
    return this.#count;
  }

  /** The last name. Null before the first. */
  get last(): string | null {
    return this.#last;
  }

  /** Returns the name of the next step. @throws TooManyStepsError */
  next(kind: string): { readonly name: string; readonly number: number } {
    const run = this.#primitives.launch.runId;
    if (this.#count >= mostSteps) throw new TooManyStepsError({ run, limit: mostSteps });
    const number = ++this.#count;
    if (number === manySteps && this.#primitives.isLive)
      process.emitWarning(`run ${run} has made ${number} steps; all are replayed after a crash`);
    this.#last = `${kind}:${number}`;
    return { name: this.#last, number };
  }
}
