/*
 * Turns of the requests that the server works on. One process has one processor for all tenants, so a tenant whose requests are all
 * worked on at once would slow everyone else's. While the processor is busy, the requests of a tenant are worked on one after the
 * other.
 *
 * A turn ends with its request, or as soon as the processor has been free for a part of a slice: then the request only waits,
 * for a run, a database or a person, and others may go on.
 */

/** Requests of one tenant that are worked on at a time, while the processor is busy. */
const atOnce = 1;

/** Milliseconds after which it is looked whether the processor has been free, again and again. */
const sliceMs = 5;

/** Share of a slice in which a busy processor works, at least. */
const busy = 0.8;

/** A turn takes no more milliseconds, however busy the processor is. */
const longestMs = 1_000;

interface Line {
  active: number;
  readonly waiting: (() => void)[];
}

/** The lines of all tenants. A line is as long as the tenant's share of the pools. */
export class Turns {
  readonly #lines = new Map<string, Line>();

  /** Waits for a turn in the line of a key. Resolves with a function that ends the turn. */
  async take(key: string): Promise<() => void> {
    const line = this.#lines.get(key) ?? { active: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.active >= atOnce) await new Promise<void>((resolve) => line.waiting.push(resolve));
    else line.active += 1;
    return this.#begin(key, line);
  }

  #begin(key: string, line: Line): () => void {
    let isOver = false;
    const begin = performance.now();
    let before = performance.eventLoopUtilization();
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      const next = line.waiting.shift();
      // In between, requests of others are read.
      if (next) return void setImmediate(next);
      line.active -= 1;
      if (line.active === 0) this.#lines.delete(key);
    };
    const look = (): void => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      if (utilization < busy || performance.now() - begin > longestMs) end();
      before = now;
    };
    const timer = setInterval(look, sliceMs).unref();
    return end;
  }
}
