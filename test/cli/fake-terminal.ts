import type { LineReader } from "../../src/cli/line-reader.ts";
import type { Output, Terminal } from "../../src/cli/terminal.ts";

/** A terminal that records its output and accepts typed input. */
export class FakeTerminal implements Terminal {
  readonly environment: Record<string, string | undefined>;
  readonly folder: string;
  readonly command: string;
  readonly out: FakeOutput;
  readonly errors: FakeOutput;
  readonly #interrupted = new Set<() => void>();
  readonly #typed = new Set<(text: string) => void>();
  readonly #entered: (string | null)[] = [];
  #ask: ((line: string | null) => void) | null = null;

  constructor({
    environment = {},
    folder = "/",
    command = "reeve",
    isTTY = false,
    columns = 80,
    rows = 24,
  }: Partial<Terminal & Omit<Output, "write">> = {}) {
    this.environment = environment;
    this.folder = folder;
    this.command = command;
    this.out = new FakeOutput(isTTY, columns, rows);
    this.errors = new FakeOutput(isTTY, columns, rows);
  }

  onInterrupt(call: () => void): () => void {
    this.#interrupted.add(call);
    return () => this.#interrupted.delete(call);
  }

  onTyped(call: (text: string) => void): () => void {
    this.#typed.add(call);
    return () => this.#typed.delete(call);
  }

  /** Simulates Ctrl-C. Returns false without a listener. */
  interrupt(): boolean {
    for (const call of this.#interrupted) call();
    return this.#interrupted.size > 0;
  }

  /** Simulates the keyboard. Returns false without a listener. */
  type(text: string): boolean {
    for (const call of this.#typed) call(text);
    return this.#typed.size > 0;
  }

  lines(): LineReader {
    return {
      read: () =>
        new Promise((resolve) => {
          this.#ask = resolve;
          this.#answer();
        }),
      close: () => undefined,
    };
  }

  /** Enters a line; null: the end of the input. */
  enter(line: string | null): void {
    this.#entered.push(line);
    this.#answer();
  }

  /** Whether a line is waited for. */
  get isAsking(): boolean {
    return this.#ask !== null;
  }

  #answer(): void {
    const line = this.#ask && this.#entered.shift();
    if (!this.#ask || line === undefined) return;
    const ask = this.#ask;
    this.#ask = null;
    ask(line);
  }

  /** All standard output so far. */
  get said(): string {
    return this.out.written.join("");
  }

  /** All standard error so far. */
  get complained(): string {
    return this.errors.written.join("");
  }
}

class FakeOutput implements Output {
  readonly written: string[] = [];
  readonly isTTY: boolean;
  columns: number;
  rows: number;

  constructor(isTTY: boolean, columns: number, rows: number) {
    this.isTTY = isTTY;
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.written.push(text);
  }
}
