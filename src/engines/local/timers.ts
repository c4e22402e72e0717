import type { Clock } from "#kernel";

/** What is due later, until all of it is called off. */
export class Timers {
  readonly #clock: Clock;
  readonly #armed = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, act: () => void, bestEffort: boolean): void {
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
