import { nextTick } from "node:process";

/** So many ticks in a row, then timers and sockets get their turn. */
const ticksInRow = 64;

/** Calls back when others have had their turn. */
export type Hop = (then: () => void) => void;

/** Lets everything else that is due happen first. */
export const macrotask: Hop = (then) => void setImmediate(then);

const settled = Promise.resolve();

/** Lets those go first that are waiting already. */
export const microtask: Hop = (then) => void settled.then(then);

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
