import { nextTick } from "node:process";
import type { Clock } from "#kernel";

/** Nothing is ready and no timer is set: all waiting code waits forever. */
export class StandstillError extends Error {}

/** Many times what any story needs. */
const mostHappenings = 500_000;

interface Timer {
  readonly at: number;
  readonly act: () => void;
}

/** Picks one of so many. */
export type Choose = (count: number) => number;

/**
 * A scheduler that runs one event at a time: ready ones in the order of `choose`, and if there are none, the earliest
 * timer. Time moves only with timers.
 */
export class World {
  readonly #choose: Choose;
  readonly #ready: (() => void)[] = [];
  readonly #timers = new Set<Timer>();
  readonly #start: number;
  #now: number;
  /** Number of events so far. */
  happened = 0;

  constructor(choose: Choose = () => 0, start: number = Date.UTC(2026, 0, 1)) {
    this.#choose = choose;
    this.#start = start;
    this.#now = start;
  }

  readonly schedule = (then: () => void): void => void this.#ready.push(then);

  /** Resolves after other ready events had their turn. */
  turn(): Promise<void> {
    return new Promise(this.schedule);
  }

  /** Milliseconds since the world began. */
  get age(): number {
    return this.#now - this.#start;
  }

  readonly clock: Clock = {
    now: () => this.#now,
    waitUntil: (at, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        if (at <= this.#now) return resolve();
        const timer: Timer = { at, act: resolve };
        this.#timers.add(timer);
        const stop = (): void => {
          if (this.#timers.delete(timer)) reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
      }),
    callAt: (at, act) => {
      const timer: Timer = { at, act };
      this.#timers.add(timer);
      return () => void this.#timers.delete(timer);
    },
  };

  /** Resolves after so many milliseconds. */
  pass(ms: number): Promise<void> {
    return this.clock.waitUntil(this.#now + ms);
  }

  /** Waits until a condition holds. */
  async waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await this.pass(1);
  }

  /** Runs events until the promise has settled. @throws StandstillError if it cannot. */
  async run<T>(outcome: Promise<T>, limit: { readonly age: number }): Promise<T> {
    const state = { isOver: false };
    const over = (): void => void (state.isOver = true);
    outcome.then(over, over);
    // In a callback of the event loop, a tick would come before the microtasks.
    await Promise.resolve();
    await microtasks();
    while (!state.isOver) {
      const act = this.#takeNext();
      if (!act) throw new StandstillError("nothing can happen any more");
      if (this.happened > mostHappenings) throw new StandstillError("it goes round in circles");
      if (this.age > limit.age) throw new StandstillError(`not over after ${this.age} ms`);
      this.happened += 1;
      act();
      await microtasks();
    }
    return outcome;
  }

  #takeNext(): (() => void) | undefined {
    const count = this.#ready.length;
    if (count > 0) return this.#ready.splice(count === 1 ? 0 : this.#choose(count), 1)[0];
    let earliest: Timer | undefined;
    for (const timer of this.#timers) if (!earliest || timer.at < earliest.at) earliest = timer;
    if (!earliest) return undefined;
    this.#timers.delete(earliest);
    this.#now = Math.max(this.#now, earliest.at);
    return earliest.act;
  }
}

/** Runs all microtasks, and those they queue. */
const microtasks = (): Promise<void> => new Promise((resolve) => nextTick(resolve));
