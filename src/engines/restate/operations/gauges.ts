/** Metrics of a worker. */
export interface Gauges {
  /** Number of executions in this process's memory. */
  readonly openExecutions: number;
  /** Number of started executions since the start. One that returns, after a wait or from elsewhere, counts again. */
  readonly startedExecutions: number;
  /** Number of executions that ended here since the start. */
  readonly endedExecutions: number;
  /** Number of closures that run, or whose results are not yet known to be journaled. */
  readonly keptSteps: number;
  /** Calls from inside steps to their tree. */
  readonly gate: GateLatency;
  /** Seconds since the start. */
  readonly uptimeS: number;
}

/** Latency of calls, rounded up to one of a few fixed limits. Null: no calls. */
export interface GateLatency {
  readonly count: number;
  readonly sumMs: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Number of calls that took at most `limitMs`. The last limit is infinite. */
  readonly buckets: readonly { readonly limitMs: number; readonly count: number }[];
}

const limitsMs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, Infinity];

/** Counts durations in a fixed number of buckets. */
export class Latency {
  readonly #counts = limitsMs.map(() => 0);
  #sumMs = 0;

  /** Measures one call, whether it succeeds or not. */
  async measure<T>(call: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await call();
    } finally {
      this.#add(performance.now() - start);
    }
  }

  read(): GateLatency {
    let count = 0;
    const buckets = limitsMs.map((limitMs, index) => {
      count += this.#counts[index] ?? 0;
      return { limitMs, count };
    });
    const quantile = (share: number): number | null =>
      buckets.find((bucket) => count > 0 && bucket.count >= count * share)?.limitMs ?? null;
    return { count, sumMs: this.#sumMs, p50Ms: quantile(0.5), p95Ms: quantile(0.95), buckets };
  }

  #add(ms: number): void {
    const index = limitsMs.findIndex((limit) => ms <= limit);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#sumMs += ms;
  }
}

/** Formats the gauges in Prometheus's text format. */
export function prometheus(gauges: Gauges): string {
  const { gate } = gauges;
  const buckets = gate.buckets.map(({ limitMs, count }) => {
    const limit = limitMs === Infinity ? "+Inf" : limitMs / 1000;
    return `reeve_gate_seconds_bucket{le="${limit}"} ${count}`;
  });
  return [
    ...toMetricLines("executions_open", "gauge", gauges.openExecutions),
    ...toMetricLines("executions_started_total", "counter", gauges.startedExecutions),
    ...toMetricLines("executions_ended_total", "counter", gauges.endedExecutions),
    ...toMetricLines("kept_steps", "gauge", gauges.keptSteps),
    ...toMetricLines("uptime_seconds", "gauge", gauges.uptimeS),
    "# TYPE reeve_gate_seconds histogram",
    ...buckets,
    `reeve_gate_seconds_sum ${gate.sumMs / 1000}`,
    `reeve_gate_seconds_count ${gate.count}`,
    "",
  ].join("\n");
}

function toMetricLines(name: string, type: "gauge" | "counter", value: number): readonly string[] {
  return [`# TYPE reeve_${name} ${type}`, `reeve_${name} ${value}`];
}
