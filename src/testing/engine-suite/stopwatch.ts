import { Worker } from "node:worker_threads";

/** Milliseconds in which the machine let this process work, counted by a thread of its own. */
const worked = new Int32Array(new SharedArrayBuffer(4));

/** A gap between two ticks counts at most 20 ms: a longer one was caused by the machine. */
const count = `
  const { workerData: worked } = require("node:worker_threads");
  let before = performance.now();
  setInterval(() => {
    const now = performance.now();
    Atomics.add(worked, 0, Math.round(Math.min(20, now - before)));
    before = now;
  }, 5);
`;

let thread: Worker | null = null;

/**
 * Starts a stopwatch: each call returns the milliseconds since. Time for which the machine was busy with other
 * processes, or stood still, does not count; time for which this process blocks its own event loop does.
 */
export async function stopwatch(): Promise<() => number> {
  if (thread === null) {
    thread = new Worker(count, { eval: true, workerData: worked });
    thread.unref();
  }
  // The thread takes a moment to start. Measuring begins once it counts.
  while (Atomics.load(worked, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const from = Atomics.load(worked, 0);
  return () => Atomics.load(worked, 0) - from;
}
