import type { AttemptId, Json, RunId } from "#kernel";
import type { RunDelta } from "#runtime";
import { cleanLines } from "#view";
import type { Output } from "../terminal.ts";

/** Writes the answers of one run as they stream, and at the end the missing part of the last one. */
export class AnswerWriter {
  readonly #out: Output;
  readonly #run: RunId;
  #attempt: AttemptId | null = null;
  /** The text of the answer that is given now. */
  #text = "";
  #isLineOpen = false;

  constructor(out: Output, run: RunId) {
    this.#out = out;
    this.#run = run;
  }

  applyDelta({ kind, runId, attempt, text }: RunDelta): void {
    if (runId !== this.#run) return;
    if (kind === "reset") {
      this.#endLine();
      this.#attempt = attempt;
      this.#text = "";
    }
    if (kind !== "text" || attempt !== this.#attempt) return;
    this.#text += text;
    this.#write(text);
  }

  /** Notes that the terminal itself has written to the line, such as `^C`. The next output starts a new line. */
  interrupt(): void {
    this.#isLineOpen ||= this.#out.isTTY;
  }

  /** Writes a line that is not part of an answer. */
  line(text: string): void {
    this.#endLine();
    this.#out.write(`${text}\n`);
  }

  /** Writes the result, unless its text was written already. */
  end(output: Json): void {
    const text = toOutputText(output);
    if (text.trim() !== this.#text.trim()) {
      this.#endLine();
      this.#write(text);
    }
    this.#endLine();
  }

  #write(text: string): void {
    if (text === "") return;
    this.#out.write(this.#out.isTTY ? cleanLines(text).join("\n") : text);
    this.#isLineOpen = !text.endsWith("\n");
  }

  #endLine(): void {
    if (this.#isLineOpen) this.#out.write("\n");
    this.#isLineOpen = false;
  }
}

/** Returns an output as readable text. */
function toOutputText(output: Json): string {
  if (output === null) return "";
  return typeof output === "string" ? output : JSON.stringify(output, null, 2);
}
