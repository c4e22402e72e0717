import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);

/** A real terminal, 100 by 50, in a server of tmux of its own, with one program in it. */
export class TerminalWindow implements AsyncDisposable {
  readonly #socket = `reeve-${randomUUID()}`;

  static async open(program: readonly string[]): Promise<TerminalWindow> {
    const window = new TerminalWindow();
    await window.#tmux("new-session", "-d", "-x", "100", "-y", "50", ...program);
    return window;
  }

  /** Types a line and the key that ends it. */
  async type(line: string): Promise<void> {
    await this.#tmux("send-keys", "-l", line);
    await this.#tmux("send-keys", "Enter");
  }

  /** Presses a key by its name, for example `C-d`. */
  async press(key: string): Promise<void> {
    await this.#tmux("send-keys", key);
  }

  /** The lines on the screen, without empty ones. */
  async screen(): Promise<readonly string[]> {
    const shown = await this.#tmux("capture-pane", "-p");
    return shown
      .split("\n")
      .map((line) => line.trimEnd())
      .filter((line) => line !== "");
  }

  /** Waits until the last lines on the screen are these. */
  async expectLast(...lines: readonly string[]): Promise<void> {
    await expect
      .poll(async () => (await this.screen()).slice(-lines.length), { interval: 20 })
      .toEqual(lines);
  }

  /** Waits until the program has ended, which ends the window. */
  async waitForEnd(): Promise<void> {
    await expect
      .poll(() =>
        this.#tmux("has-session").then(
          () => "open",
          () => "over",
        ),
      )
      .toBe("over");
  }

  async #tmux(...words: readonly string[]): Promise<string> {
    return (await run("tmux", ["-L", this.#socket, ...words])).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => "it is over");
  }
}
