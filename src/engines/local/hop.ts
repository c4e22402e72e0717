import { nextTick } from "node:process";

/** So many ticks in a row, then timers and sockets get their turn. */
const ticksInRow = 64;

/** So many calls in a row, then the same. */
const callsInRow = 64;

/** Calls back when others have had their turn. */
export type Hop = (then: () => void) => void;

/** Lets everything else that is due happen first. */
export const macrotask: Hop = (then) => void setImmediate(then);

const settled = Promise.resolve();

/**
 * Lets those go first that are waiting already. A run that makes one call after the other would keep everything else from its
 * turn, a cancel too: so each of so many lets timers and sockets go first, and all that come until then wait behind it.
 */
export function microtask(): Hop {
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
 * Lets every microtask run first, which is all that code over a journal may wait for, and is many times cheaper than a
 * turn of the event loop. Called from a microtask, as whatever has awaited something is.
 */
export function tick(): Hop {
  let ticks = 0;
  return (then) => {
    ticks += 1;
    if (ticks % ticksInRow === 0) macrotask(then);
    else nextTick(then);
  };
}
