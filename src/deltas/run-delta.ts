import type { AttemptId, Json, ModelDelta, RunId, StepId } from "#kernel";

/** The progress of a tool call, as the tool reports it. */
export interface ToolUpdate {
  readonly tool: string;
  /** The model's id for the call. */
  readonly callId: string;
  readonly progress: Json;
}

/**
 * A piece of an answer, or the progress of a tool call, with its position. Not durable, and nothing may be decided by
 * it: the model call returns the answer itself.
 */
export interface RunDelta {
  /**
   * `reset`, with an empty text: a new attempt of the step begins, and earlier pieces are void. `tool-update`, with an
   * empty text: the progress of a tool call. It replaces the previous one.
   */
  readonly kind: ModelDelta["kind"] | "reset" | "tool-update";
  readonly text: string;
  /** Set on a `tool-update`. */
  readonly update?: ToolUpdate | undefined;
  readonly runId: RunId;
  readonly step: StepId;
  readonly attempt: AttemptId;
}

/** The fields that are the same for all pieces of an answer. */
export type AnswerRef = Pick<RunDelta, "runId" | "step" | "attempt">;

/** Maximum characters of one piece. A longer text becomes several pieces. */
export const longestPiece = 64_000;

/** Approximate size of a piece without its text. */
const placeSize = 200;

/** Returns the size of a piece's update, in characters. */
export const sizeOfUpdate = ({ update }: Pick<RunDelta, "update">): number =>
  update ? JSON.stringify(update).length : 0;

type MutableDelta = Omit<RunDelta, "text" | "update"> & { text: string; update?: RunDelta["update"] };

/** Pieces in order. Consecutive pieces of one attempt and kind are merged; of updates, the newest is kept. */
export class Pieces {
  readonly #pieces: MutableDelta[] = [];
  readonly #last = new Map<AttemptId, MutableDelta>();
  #size = 0;

  /** Approximate number of characters. */
  get size(): number {
    return this.#size;
  }

  /** The pieces. They may still grow. */
  get all(): readonly RunDelta[] {
    return this.#pieces;
  }

  add(delta: RunDelta): void {
    const last = this.#last.get(delta.attempt);
    if (delta.update && last?.update) {
      this.#size += sizeOfUpdate(delta) - sizeOfUpdate(last);
      last.update = delta.update;
      return;
    }
    this.#size += delta.text.length + sizeOfUpdate(delta);
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
