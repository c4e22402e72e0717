import type { Output } from "../terminal.ts";

/** The last lines of a terminal, drawn again and again in place. */
export class LiveRegion {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Number of lines that can be drawn. */
  get height(): number {
    return Math.max(1, this.#output.rows - 1);
  }

  /** Replaces the drawn lines. Lines must fit the width; lines beyond the height are left out. */
  draw(lines: readonly string[]): void {
    const most = this.height;
    const shown =
      lines.length <= most ? lines : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`];
    // A single write avoids flicker.
    this.#output.write(`${this.#home()}${shown.map((line) => `${line}\u001B[K\n`).join("")}\u001B[J`);
    this.#drawn = shown.length;
  }

  /** Removes the drawn lines. */
  clear(): void {
    if (this.#drawn > 0) this.#output.write(`${this.#home()}\u001B[J`);
    this.#drawn = 0;
  }

  #home(): string {
    return this.#drawn === 0 ? "" : `\u001B[${this.#drawn}A\r`;
  }
}
