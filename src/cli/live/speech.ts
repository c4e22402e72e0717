import type { AttemptId, NumberedEvent, RunId } from "#kernel";
import type { RunDelta } from "#runtime";
import { lastRow } from "../text/width.ts";

interface Answer {
  readonly attempt: AttemptId;
  /** What has come since the row that was asked for last, and that row. */
  rest: string;
}

/** Of an answer that nobody looks at, at most twice as much is kept. */
const mostKept = 4_096;

/** What is being said in a tree: of each run, the row that its answer has come to. For people who watch. */
export class Speech {
  readonly #answers = new Map<RunId, Answer>();

  /** A piece of an answer. One that begins, perhaps again, takes the place of the one before. */
  hear({ kind, runId, attempt, text }: RunDelta): void {
    if (kind === "reset") this.#answers.set(runId, { attempt, rest: "" });
    const answer = this.#answers.get(runId);
    if (kind !== "text" || answer?.attempt !== attempt) return;
    answer.rest += text;
    if (answer.rest.length > 2 * mostKept) answer.rest = answer.rest.slice(-mostKept);
  }

  /** An answer that was given is not being said any more. */
  see({ type, runId, attempt }: NumberedEvent): void {
    const isOver = type === "model.end" && this.#answers.get(runId)?.attempt === attempt;
    if (isOver || type === "run.end") this.#answers.delete(runId);
  }

  /** The last row of what a run says now, at most so wide; null while it says nothing. */
  row(run: RunId, width: number): string | null {
    const answer = this.#answers.get(run);
    if (!answer) return null;
    const said = answer.rest.trimEnd();
    const row = lastRow(said, width);
    // What is above the row is not needed again: however long an answer is, each word is looked at a few times only.
    answer.rest = row + answer.rest.slice(said.length);
    return row === "" ? null : row;
  }
}
