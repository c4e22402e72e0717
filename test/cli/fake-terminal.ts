import type { Terminal } from "../../src/cli/terminal.ts";

/** A terminal that remembers what was written to it. */
export class FakeTerminal implements Terminal {
  readonly environment: Record<string, string | undefined>;
  readonly folder: string;
  #out = "";
  #errors = "";
  readonly #isTTY: boolean;
  readonly #interrupted = new Set<() => void>();

  constructor({
    environment = {},
    folder = "/",
    isTTY = false,
  }: Partial<Terminal & { isTTY: boolean }> = {}) {
    this.environment = environment;
    this.folder = folder;
    this.#isTTY = isTTY;
  }

  get out() {
    return { write: (text: string) => void (this.#out += text), isTTY: this.#isTTY, columns: 80, rows: 24 };
  }

  get errors() {
    return {
      write: (text: string) => void (this.#errors += text),
      isTTY: this.#isTTY,
      columns: 80,
      rows: 24,
    };
  }

  onInterrupt(call: () => void): () => void {
    this.#interrupted.add(call);
    return () => this.#interrupted.delete(call);
  }

  /** As Ctrl-C would. False if nobody listens. */
  interrupt(): boolean {
    for (const call of this.#interrupted) call();
    return this.#interrupted.size > 0;
  }

  /** Everything on standard output so far. */
  get said(): string {
    return this.#out;
  }

  /** Everything on standard error so far. */
  get complained(): string {
    return this.#errors;
  }
}
