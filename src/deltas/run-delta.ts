import type { AttemptId, Json, ModelDelta, RunId, StepId } from "#kernel";

/** The progress of a tool call, as the tool tells it. */
export interface ToolUpdate {
  readonly tool: string;
  /** The model's own name for the call. */
  readonly callId: string;
  readonly progress: Json;
}

/**
 * A piece of an answer, or the progress of a tool call, with its place. Not durable, and nothing may be decided by it:
 * the answer itself is what the model call returns.
 */
export interface RunDelta {
  /**
   * `reset`, with an empty text: a new attempt of the step begins. What came of its earlier ones is void. `tool-update`,
   * with an empty text: the progress of a tool call. It takes the place of the one before.
   */
  readonly kind: ModelDelta["kind"] | "reset" | "tool-update";
  readonly text: string;
  /** Set on a `tool-update`. */
  readonly update?: ToolUpdate | undefined;
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

/** The size of a piece's update, in characters. */
export const sizeOfUpdate = ({ update }: Pick<RunDelta, "update">): number =>
  update ? JSON.stringify(update).length : 0;

type Growing = Omit<RunDelta, "text" | "update"> & { text: string; update?: RunDelta["update"] };

/** Pieces in the order they came. Those of one attempt and kind that follow each other are one; of updates, the newest. */
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
