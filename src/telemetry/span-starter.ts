import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
  TraceFlags,
} from "@opentelemetry/api";
import type { TraceParent } from "#kernel";
import type { DerivedIds } from "./derived-ids.ts";
import { hrTime, OpenSpan } from "./open-span.ts";

/** The parameters of a new span. */
export interface SpanStart {
  readonly id: string;
  readonly at: number;
  readonly attributes: Attributes;
  /** Default: internal. */
  readonly kind?: SpanKind;
}

/** Starts the spans of one trace with predetermined ids. */
export class SpanStarter {
  readonly #tracer: Tracer;
  readonly #ids: DerivedIds;
  readonly #traceId: string;

  constructor(tracer: Tracer, ids: DerivedIds, traceId: string) {
    this.#tracer = tracer;
    this.#ids = ids;
    this.#traceId = traceId;
  }

  /** The first of its trace here, below the caller's where there is one. */
  startFirst(name: string, start: SpanStart, caller: TraceParent | null): OpenSpan {
    if (!caller) return this.#start(name, start, ROOT_CONTEXT);
    const { spanId, sampled } = caller;
    const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
    const remote: SpanContext = { traceId: this.#traceId, spanId, traceFlags, isRemote: true };
    return this.#start(name, start, trace.setSpanContext(ROOT_CONTEXT, remote));
  }

  startChild(parent: OpenSpan, name: string, start: SpanStart): OpenSpan {
    return this.#start(name, start, parent.context);
  }

  /** @throws TypeError if the tracer gives ids of its own. */
  #start(
    name: string,
    { id, at, attributes, kind = SpanKind.INTERNAL }: SpanStart,
    parent: Context,
  ): OpenSpan {
    const traceId = this.#traceId;
    const span = this.#ids.runWith({ traceId, spanId: id }, () =>
      this.#tracer.startSpan(name, { startTime: hrTime(at), attributes, kind }, parent),
    );
    if (span.isRecording() && span.spanContext().spanId !== id)
      throw new TypeError(
        "the tracer's provider uses another id generator: use new TracerProvider({ idGenerator: ids, ... })",
      );
    return new OpenSpan(span, at);
  }
}
