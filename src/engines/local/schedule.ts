import { nextTick } from "node:process";

/** Number of consecutive ticks after which timers and sockets get a turn. */
const ticksInRow = 64;

/** Number of consecutive calls after which timers and sockets get a turn. */
const callsInRow = 64;

/** Defers a callback until pending work has had a turn. */
export type Schedule = (then: () => void) => void;

/** Defers until the next turn of the event loop. */
export const macrotask: Schedule = (then) => void setImmediate(then);

const settled = Promise.resolve();

/**
 * Returns a function that defers behind pending microtasks. A run that makes one call after the other would block
 * everything else, including a cancel. So after every `callsInRow` calls, timers and sockets go first, and later calls
 * wait behind them.
 */
export function microtask(): Schedule {
  let calls = 0;
  let waiting: (() => void)[] | null = null;
  return (then) => {
    if (waiting) return void waiting.push(then);
    calls += 1;
    if (calls % callsInRow !== 0) return void settled.then(then);
    const queue = [then];
    waiting = queue;
    macrotask(() => {
      waiting = null;
      for (const each of queue) void settled.then(each);
    });
  };
}

/**
 * Returns a function that defers until all microtasks have run. Code over a journal may wait only for those, and it is
 * far cheaper than a turn of the event loop. It must be called from a microtask, as after any `await`.
 */
export function tick(): Schedule {
  let ticks = 0;
  return (then) => {
    ticks += 1;
    if (ticks % ticksInRow === 0) macrotask(then);
    else nextTick(then);
  };
}
