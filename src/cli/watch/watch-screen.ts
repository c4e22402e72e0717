import type { Clock } from "#kernel";
import { FullScreen } from "../live/full-screen.ts";
import { paintOf, type Terminal } from "../terminal.ts";
import { keysIn } from "./watch-keys.ts";
import type { Watcher } from "./watcher.ts";

const frameMs = 100;

/** A watched tree on a terminal: drawn at most ten times a second, and at once after a key press. */
export class WatchScreen {
  readonly #watcher: Watcher;
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #screen: FullScreen;
  readonly #release: () => void;
  readonly #failed = Promise.withResolvers<never>();
  #disarm: () => void = () => undefined;

  constructor(watcher: Watcher, terminal: Terminal, clock: Clock) {
    this.#watcher = watcher;
    this.#terminal = terminal;
    this.#clock = clock;
    this.#screen = new FullScreen(terminal.out);
    this.#release = terminal.onTyped((text) => this.#guard(() => this.#handleInput(text)));
    // If the screen is closed first, the failure is ignored.
    this.#failed.promise.catch(() => undefined);
    this.#drawRepeatedly();
  }

  /** Rejects when it cannot be drawn; never resolves. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  close(): void {
    this.#disarm();
    this.#release();
    this.#screen.leave();
  }

  #drawRepeatedly(): void {
    this.#disarm = this.#clock.callAt(this.#clock.now() + frameMs, () => this.#drawRepeatedly());
    this.#guard(() => this.#draw());
  }

  /** However much is typed at once, it is drawn once. */
  #handleInput(text: string): void {
    for (const key of keysIn(text)) this.#watcher.press(key, this.#terminal.out.rows);
    this.#draw();
  }

  #draw(): void {
    const { out } = this.#terminal;
    const paint = paintOf(this.#terminal, out);
    const screen = { width: out.columns, height: out.rows, paint, now: this.#clock.now() };
    this.#screen.draw(this.#watcher.lines(screen));
  }

  /** An exception here would end the process and leave the terminal in raw mode. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#failed.reject(error);
    }
  }
}
