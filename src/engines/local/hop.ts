import { nextTick } from "node:process";

/** So many ticks in a row, then timers and sockets get their turn. */
const ticksInRow = 64;

/** Lets everything else that is due happen first. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Lets every microtask run first, which is all that code over a journal may wait for, and is many times cheaper than a
 * turn of the event loop. Called from a microtask, as whatever has awaited something is.
 */
export function tick(): () => Promise<void> {
  let ticks = 0;
  return () => {
    ticks += 1;
    return ticks % ticksInRow === 0 ? macrotask() : new Promise((resolve) => nextTick(resolve));
  };
}
