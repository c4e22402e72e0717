import type { Output } from "../terminal.ts";

/** The last lines of a terminal, drawn again and again in place. */
export class LiveRegion {
  readonly #output: Output;
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** How many lines can be drawn. */
  get height(): number {
    return Math.max(1, this.#output.rows - 1);
  }

  /** Replaces what was drawn. Lines must fit the width; those that do not fit the height are left out. */
  draw(lines: readonly string[]): void {
    const most = this.height;
    const shown =
      lines.length <= most ? lines : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`];
    // One write: a terminal shows it at once, without flicker.
    this.#output.write(`${this.#home()}${shown.map((line) => `${line}\u001B[K\n`).join("")}\u001B[J`);
    this.#drawn = shown.length;
  }

  /** Takes away what was drawn. */
  clear(): void {
    if (this.#drawn > 0) this.#output.write(`${this.#home()}\u001B[J`);
    this.#drawn = 0;
  }

  #home(): string {
    return this.#drawn === 0 ? "" : `\u001B[${this.#drawn}A\r`;
  }
}
