import { createNoopMeter, type Meter, type Tracer } from "@opentelemetry/api";
import { type NumberedEvent, RunId } from "#kernel";
import { LruMap } from "#base";
import type { DerivedIds } from "./derived-ids.ts";
import type { StepContent } from "./content-attributes.ts";
import { Measures } from "./measures.ts";
import { SpanStarter } from "./span-starter.ts";
import { TreeTrace } from "./tree-trace.ts";

/** Finished trees remembered, so that reading one again adds nothing. */
const rememberedTrees = 10_000;

/** Targets of spans and metrics. */
export interface TelemetryOptions {
  /** Tracer of a provider created with `ids`. */
  readonly tracer: Tracer;
  /** The `idGenerator` of that provider. */
  readonly ids: DerivedIds;
  /** Default: no metrics. */
  readonly meter?: Meter;
  /** Returns the `gen_ai.provider.name` of a model. Default: not set. */
  readonly providerOf?: (model: string) => string | undefined;
  /**
   * Whether content is included: error messages, reasons, and the stored prompts, answers, arguments and results.
   * Default: false.
   */
  readonly captureContent?: boolean;
}

/** The options of {@link Telemetry.take}. */
export interface TakeOptions {
  /** Default: the installation has no tenants. */
  readonly tenant?: string;
  /** The content of the step that the event begins. Left out without `captureContent`. */
  readonly content?: StepContent | undefined;
}

interface KnownTree {
  /** The last event that was taken. */
  seq: number;
  /** Null before the root has started, and when the tree is over. */
  trace: TreeTrace | null;
}

/** Converts events of trees into spans and metrics. Every event counts once, however often it is read. */
export class Telemetry {
  readonly #options: Required<Omit<TelemetryOptions, "meter">>;
  readonly #measures: Measures;
  readonly #open = new Map<string, KnownTree>();
  /** The last event of trees that are over. */
  readonly #over = new LruMap<string, number>({ max: rememberedTrees });

  constructor({ meter, ...options }: TelemetryOptions) {
    this.#options = { providerOf: () => undefined, captureContent: false, ...options };
    this.#measures = new Measures(meter ?? createNoopMeter(), this.#options.providerOf);
  }

  /** Whether the content of steps is wanted. */
  get capturesContent(): boolean {
    return this.#options.captureContent;
  }

  /**
   * Handles one event. A tree's events must arrive in order and from the first one, because spans begin and end in
   * different events. An event handled before is skipped.
   */
  take(event: NumberedEvent, { tenant = "-", content }: TakeOptions = {}): void {
    const key = `${tenant}/${event.treeId}`;
    const known = this.#open.get(key) ?? { seq: this.#over.get(key) ?? 0, trace: null };
    if (event.seq <= known.seq) return;
    known.seq = event.seq;
    this.#measures.take(event);
    const wasOver = this.#over.has(key);
    const isRoot = event.runId === RunId.root(event.treeId);
    if (event.type === "run.start" && isRoot && !wasOver) known.trace ??= this.#traceOf(event);
    known.trace?.take(event, this.capturesContent ? content : undefined);
    const isOver = known.trace ? known.trace.isOver : event.type === "run.end" && isRoot;
    if (isOver || wasOver) this.#close(key, known.seq);
    else this.#open.set(key, known);
  }

  /** Counts a tree that is stored in reduced form, because the store rejected a value of it. */
  takeReduced(): void {
    this.#measures.countReduced();
  }

  /** Handles all events of a stream, such as `run.events()`. */
  async follow(
    events: AsyncIterable<NumberedEvent>,
    options: Pick<TakeOptions, "tenant"> = {},
  ): Promise<void> {
    for await (const event of events) this.take(event, options);
  }

  #traceOf(start: Extract<NumberedEvent, { type: "run.start" }>): TreeTrace {
    const { tracer, ids, providerOf, captureContent } = this.#options;
    const starter = new SpanStarter(tracer, ids, start.traceId);
    return new TreeTrace({ starter, measures: this.#measures, providerOf, captureContent }, start);
  }

  #close(key: string, seq: number): void {
    this.#open.delete(key);
    this.#over.set(key, seq);
  }
}
