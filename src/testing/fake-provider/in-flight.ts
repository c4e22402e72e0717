/** A request came in, or was let go. */
export interface FlightEvent {
  readonly at: number;
  readonly change: "start" | "end";
  /** The header `x-reeve-run`. */
  readonly run: string | null;
  /** The header `x-reeve-attempt`. */
  readonly key: string | null;
  /** Requests in flight after this event. */
  readonly requests: number;
  /** Runs with a request in flight after this event. */
  readonly runs: number;
}

/** The requests in progress: an independent witness for headcount. */
export interface InFlight {
  /** Requests in flight now. */
  readonly requests: number;
  /** The runs with a request in flight now. */
  readonly runs: readonly string[];
  /**
   * All events in order. A request ends when its answer is sent, before anything its client does next; or when the
   * provider sees that its client has left.
   */
  readonly timeline: readonly FlightEvent[];
  /** The most runs that ever had a request in flight at the same time. Default: of all runs. */
  peakRuns(filter?: (run: string) => boolean): number;
  /** Waits until at least so many requests are in flight. Fails with the signal's reason. */
  reaches(requests: number, signal?: AbortSignal): Promise<void>;
}

interface Waiter {
  readonly requests: number;
  readonly resolve: () => void;
}

/** The requests in flight, as the double keeps them. */
export class FlightLog implements InFlight {
  readonly #timeline: FlightEvent[] = [];
  readonly #perRun = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  readonly #now: () => number;
  #requests = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get requests(): number {
    return this.#requests;
  }

  get runs(): readonly string[] {
    return [...this.#perRun.keys()];
  }

  get timeline(): readonly FlightEvent[] {
    return [...this.#timeline];
  }

  /** Counts a request as in flight until the returned function is called. Further calls do nothing. */
  start(run: string | null, key: string | null): () => void {
    this.#note("start", run, key);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#note("end", run, key);
    };
  }

  peakRuns(filter: (run: string) => boolean = () => true): number {
    const open = new Map<string, number>();
    let peak = 0;
    for (const { change, run } of this.#timeline) {
      if (run === null || !filter(run)) continue;
      count(open, run, change);
      peak = Math.max(peak, open.size);
    }
    return peak;
  }

  async reaches(requests: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#requests >= requests) return;
    await new Promise<void>((resolve) => {
      const waiter = { requests, resolve };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", () => {
        this.#waiters.delete(waiter);
        resolve();
      });
    });
    signal?.throwIfAborted();
  }

  #note(change: FlightEvent["change"], run: string | null, key: string | null): void {
    this.#requests += change === "start" ? 1 : -1;
    if (run !== null) count(this.#perRun, run, change);
    const requests = this.#requests;
    this.#timeline.push({ at: this.#now(), change, run, key, requests, runs: this.#perRun.size });
    for (const waiter of this.#waiters) {
      if (requests < waiter.requests) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

function count(open: Map<string, number>, run: string, change: FlightEvent["change"]): void {
  const requests = (open.get(run) ?? 0) + (change === "start" ? 1 : -1);
  if (requests === 0) open.delete(run);
  else open.set(run, requests);
}
