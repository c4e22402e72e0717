import type { Clock } from "#kernel";

/** The pending timers of an engine. All can be cancelled together. */
export class Timers {
  readonly #clock: Clock;
  readonly #armed = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  callAfter(delayMs: number, act: () => void, bestEffort: boolean): void {
    const due = (): void => {
      this.#armed.delete(disarm);
      act();
    };
    const disarm = this.#clock.callAt(this.#clock.now() + delayMs, due, { bestEffort });
    this.#armed.add(disarm);
  }

  close(): void {
    for (const disarm of this.#armed) disarm();
    this.#armed.clear();
  }
}
