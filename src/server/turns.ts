/*
 * All tenants share the processor of a server, so one tenant must not fill it. While the processor is busy, each tenant has one
 * request in progress, and its other requests wait in line.
 *
 * A turn ends with its request. It ends early once the processor has had idle time: then the request is only waiting, for a run,
 * a database or a person, and the next one may begin.
 */

/** Requests of one tenant in progress while the processor is busy. */
const atOnce = 1;

/** Milliseconds between two checks for idle time. */
const sliceMs = 5;

/** The processor counts as busy if it works for at least this share of a slice. */
const busy = 0.8;

/** Maximum duration of a turn, however busy the processor is. */
const longestMs = 1_000;

/** Returns the share of the time since its last call in which the processor worked. */
type WorkMeter = () => number;

function measureEventLoop(): WorkMeter {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

/** Counts the processor time of all threads. A process that has to wait for a processor seems to work less than it does. */
function measureProcess(): WorkMeter {
  let before = { cpu: process.cpuUsage(), at: performance.now() };
  return () => {
    const now = { cpu: process.cpuUsage(), at: performance.now() };
    const worked = now.cpu.user + now.cpu.system - before.cpu.user - before.cpu.system;
    const share = worked / 1_000 / (now.at - before.at);
    before = now;
    return share;
  };
}

/** Bun does not measure its event loop. */
const openMeter = "eventLoopUtilization" in performance ? measureEventLoop : measureProcess;

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
    const measure = openMeter();
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      const next = line.waiting.shift();
      // The event loop turns in between, so that requests of other tenants get in.
      if (next) return void setImmediate(next);
      line.active -= 1;
      if (line.active === 0) this.#lines.delete(key);
    };
    const look = (): void => {
      if (measure() < busy || performance.now() - begin > longestMs) end();
    };
    const timer = setInterval(look, sliceMs).unref();
    return end;
  }
}
