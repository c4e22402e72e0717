import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { DerivedIds, Telemetry, type TelemetryOptions } from "reeve/telemetry";

/** The comparable part of a span. */
export interface Seen {
  readonly id: string;
  readonly parent: string | undefined;
  readonly trace: string;
  readonly name: string;
  readonly began: number;
  readonly ended: number;
  readonly attributes: ReadableSpan["attributes"];
  readonly events: readonly string[];
}

/** Telemetry whose spans and metrics stay in memory. */
export interface Recorder {
  readonly telemetry: Telemetry;
  /** The exported spans, in order of their end. */
  readonly spans: () => Promise<readonly Seen[]>;
  /** The status messages of failed spans. */
  readonly statuses: () => Promise<readonly string[]>;
  /** The sum of a counter, or how many values a histogram has, by the given attribute. */
  readonly count: (metric: string, attribute: string) => Promise<Record<string, number>>;
}

export function recorder(options: Partial<TelemetryOptions> & { readonly sampler?: Sampler } = {}): Recorder {
  const { sampler, ...rest } = options;
  const ids = new DerivedIds();
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    idGenerator: ids,
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler && { sampler }),
  });
  const figures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: figures, exportIntervalMillis: 3_600_000 });
  const meter = new MeterProvider({ readers: [reader] }).getMeter("reeve");
  const telemetry = new Telemetry({ tracer: provider.getTracer("reeve"), ids, meter, ...rest });
  return {
    telemetry,
    spans: async () => {
      await provider.forceFlush();
      return exporter.getFinishedSpans().map(describeSpan);
    },
    statuses: async () => {
      await provider.forceFlush();
      return exporter.getFinishedSpans().map(({ status }) => status.message ?? "");
    },
    count: async (metric, attribute) => {
      await reader.forceFlush();
      const metrics =
        figures
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      const points = metrics.find(({ descriptor }) => descriptor.name === metric)?.dataPoints ?? [];
      const sums: Record<string, number> = {};
      for (const { attributes, value } of points) {
        const key = String(attributes[attribute]);
        const amount = typeof value === "number" ? value : value.count;
        sums[key] = (sums[key] ?? 0) + amount;
      }
      return sums;
    },
  };
}

function describeSpan(span: ReadableSpan): Seen {
  const { traceId, spanId } = span.spanContext();
  return {
    id: spanId,
    parent: span.parentSpanContext?.spanId,
    trace: traceId,
    name: span.name,
    began: ms(span.startTime),
    ended: ms(span.endTime),
    attributes: span.attributes,
    events: span.events.map(({ name }) => name),
  };
}

const ms = ([seconds, nanos]: readonly [number, number]): number => seconds * 1000 + Math.round(nanos / 1e6);

/** The spans as a tree of names, in the order of the alphabet: which of two began first may be a matter of luck. */
export function outline(spans: readonly Seen[], parent?: string): readonly unknown[] {
  const ids = new Set(spans.map(({ id }) => id));
  return spans
    .filter((span) => (parent === undefined ? !ids.has(span.parent ?? "") : span.parent === parent))
    .map((span) => {
      const below = outline(spans, span.id);
      return below.length > 0 ? [span.name, below] : span.name;
    })
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}
