import type { Output } from "../terminal.ts";

/** A full-screen terminal view. The previous content returns when it is left. */
export class FullScreen {
  readonly #output: Output;
  #drawn: readonly string[] = [];
  #size = "";

  constructor(output: Output) {
    this.#output = output;
    output.write("\u001B[?1049h\u001B[?25l");
  }

  /** Replaces the content; only lines that differ are written. Lines must fit the width and the number of rows. */
  draw(lines: readonly string[]): void {
    const { columns, rows } = this.#output;
    const size = `${columns}x${rows}`;
    const isNew = size !== this.#size;
    const drawn = isNew ? [] : this.#drawn;
    const changes = lines.flatMap((line, index) =>
      line === drawn[index] ? [] : `\u001B[${index + 1};1H${line}\u001B[K`,
    );
    if (lines.length < drawn.length) changes.push(`\u001B[${lines.length + 1};1H\u001B[J`);
    // A single write avoids flicker.
    const text = (isNew ? "\u001B[2J" : "") + changes.join("");
    if (text !== "") this.#output.write(text);
    this.#drawn = lines;
    this.#size = size;
  }

  leave(): void {
    this.#output.write("\u001B[?25h\u001B[?1049l");
  }
}
