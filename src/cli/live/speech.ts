import type { AttemptId, NumberedEvent, RunId } from "#kernel";
import type { RunDelta } from "#runtime";
import { lastRow } from "../text/width.ts";

interface Answer {
  readonly attempt: AttemptId;
  /** Text since the last requested row, and that row. */
  rest: string;
}

/** Characters kept of an answer that is not displayed; up to twice as many in between. */
const mostKept = 4_096;

/** Live text of a tree: for each run, the current row of its answer. For terminal views. */
export class Speech {
  readonly #answers = new Map<RunId, Answer>();

  /** A piece of an answer. One that begins, perhaps again, takes the place of the one before. */
  applyDelta({ kind, runId, attempt, text }: RunDelta): void {
    if (kind === "reset") this.#answers.set(runId, { attempt, rest: "" });
    const answer = this.#answers.get(runId);
    if (kind !== "text" || answer?.attempt !== attempt) return;
    answer.rest += text;
    if (answer.rest.length > 2 * mostKept) answer.rest = answer.rest.slice(-mostKept);
  }

  /** An answer that is complete is removed from the live text. */
  see({ type, runId, attempt }: NumberedEvent): void {
    const isOver = type === "model.end" && this.#answers.get(runId)?.attempt === attempt;
    if (isOver || type === "run.end") this.#answers.delete(runId);
  }

  /** Returns the last row of a run's live text, at most `width` columns. Null if there is none. */
  row(run: RunId, width: number): string | null {
    const answer = this.#answers.get(run);
    if (!answer) return null;
    const said = answer.rest.trimEnd();
    const row = lastRow(said, width);
    // Text above the row is dropped, so each character is scanned only a few times, however long the answer is.
    answer.rest = row + answer.rest.slice(said.length);
    return row === "" ? null : row;
  }
}
