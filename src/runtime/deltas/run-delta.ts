import type { AttemptId, ModelDelta, RunId, StepId } from "#kernel";

/**
 * A piece of an answer, with its place. Not durable, and nothing may be decided by it: the answer itself is what the
 * model call returns.
 */
export interface RunDelta {
  /** `reset`, with an empty text: a new attempt of the step begins. What came of its earlier ones is void. */
  readonly kind: ModelDelta["kind"] | "reset";
  readonly text: string;
  readonly runId: RunId;
  readonly step: StepId;
  readonly attempt: AttemptId;
}

/** What of a piece stays the same for all of an answer. */
export type AnswerPlace = Pick<RunDelta, "runId" | "step" | "attempt">;

/** The longest text of one piece: a longer one becomes several. */
export const longestPiece = 64_000;

/** What a piece weighs beside its text. */
const placeSize = 200;

type Growing = Omit<RunDelta, "text"> & { text: string };

/** Pieces in the order they came. Those of one attempt and kind that follow each other are one. */
export class Pieces {
  readonly #pieces: Growing[] = [];
  readonly #last = new Map<AttemptId, Growing>();
  #size = 0;

  /** In characters, about. */
  get size(): number {
    return this.#size;
  }

  /** They still grow. */
  get all(): readonly RunDelta[] {
    return this.#pieces;
  }

  add(delta: RunDelta): void {
    const last = this.#last.get(delta.attempt);
    this.#size += delta.text.length;
    if (last?.kind === delta.kind && last.text.length + delta.text.length <= longestPiece) {
      last.text += delta.text;
      return;
    }
    const piece = { ...delta };
    this.#size += placeSize;
    this.#pieces.push(piece);
    this.#last.set(delta.attempt, piece);
  }
}
