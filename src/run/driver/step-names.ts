import { TooManyStepsError, type ExecutionPrimitives } from "#kernel";

/** From here on a replay takes seconds; there it would take minutes. */
const manySteps = 10_000;
const mostSteps = 50_000;

/** Names the steps of one execution: each by its kind and its place. */
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

  /** The name that was given last; null before the first. */
  get last(): string | null {
    return this.#last;
  }

  /** @throws TooManyStepsError */
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
