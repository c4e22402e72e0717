import type { Attributes } from "@opentelemetry/api";
import {
  AgentId,
  type EventType,
  Money,
  type NumberedEvent,
  type ReeveEvent,
  type RunId,
  SpanId,
  TraceParent,
} from "#kernel";
import { genAi, reeve } from "./conventions.ts";
import type { StepContent } from "./content-attributes.ts";
import { attributesOf, toErrorText } from "./event-attributes.ts";
import type { OpenSpan } from "./open-span.ts";
import { RunSpans, type TraceDeps, usageAttributes } from "./run-spans.ts";

/** Rare and notable events, which become events of the open span. */
const noted: ReadonlySet<EventType> = new Set<EventType>([
  "guardrail.trip",
  "handoff.made",
  "run.paused",
  "run.resumed",
  "run.reprioritized",
  "run.cancelling",
  "budget.warning",
  "budget.denied",
  "budget.waiting",
  "budget.topped-up",
  "permission.denied",
  "approval.requested",
  "approval.decided",
  "message.dead-lettered",
  "compaction.end",
  "extension.error",
]);

const spanned = [
  "run.start",
  "run.end",
  "cycle.start",
  "cycle.end",
  "model.start",
  "model.end",
  "tool.start",
  "tool.end",
  "retry.start",
  "budget.settled",
  "spawn.queued",
  "spawn.admitted",
  "spawn.denied",
] as const;

type SpanEvent = Extract<NumberedEvent, { type: (typeof spanned)[number] }>;

/** Whether it begins, ends or changes a span. */
const isSpanned = (event: NumberedEvent): event is SpanEvent => spanned.some((type) => type === event.type);

/** The spans of one tree, from the start of its root to the end of its last run. */
export class TreeTrace {
  readonly #host: TraceDeps;
  readonly #span: OpenSpan;
  readonly #root: RunId;
  readonly #runs = new Map<RunId, RunSpans>();
  /** Queued spawns. */
  readonly #queued = new Map<RunId, OpenSpan>();
  /** Spawned runs that have not ended. */
  readonly #live = new Set<RunId>();
  #end: ReeveEvent<"run.end"> | null = null;

  constructor(host: TraceDeps, start: ReeveEvent<"run.start">) {
    this.#host = host;
    this.#root = start.runId;
    const workflow = AgentId.type(start.agent);
    const attributes = {
      [genAi.operation]: "invoke_workflow",
      [genAi.workflow]: workflow,
      [reeve.tree]: start.treeId,
    };
    const caller = start.caller === undefined ? null : TraceParent.parse(start.caller);
    const opening = { id: SpanId.of(start.treeId), at: start.at, attributes };
    this.#span = host.starter.startFirst(`invoke_workflow ${workflow}`, opening, caller);
  }

  /** Whether every run has ended. */
  get isOver(): boolean {
    return this.#end !== null && this.#live.size === 0;
  }

  take(event: NumberedEvent, content: StepContent | undefined): void {
    const run = this.#live.has(event.runId) ? this.#runs.get(event.runId) : undefined;
    if (!isSpanned(event)) {
      if (noted.has(event.type)) this.#note(event, run);
      return;
    }
    this.#change(event, run);
    if (content && (event.type === "model.start" || event.type === "tool.start"))
      run?.describe(event.step, content);
  }

  #change(event: SpanEvent, run: RunSpans | undefined): void {
    switch (event.type) {
      case "run.start":
        return this.#startRun(event);
      case "run.end":
        return this.#endRun(event, run);
      case "cycle.start":
        return run?.startCycle(event);
      case "cycle.end":
        return run?.endCycle(event.at);
      case "model.start":
      case "model.end":
      case "tool.start":
      case "tool.end":
      case "retry.start":
      case "budget.settled":
        return run?.take(event);
      case "spawn.queued":
      case "spawn.admitted":
      case "spawn.denied":
        return this.#spawn(event, run);
    }
  }

  #note(event: NumberedEvent, run: RunSpans | undefined): void {
    const attributes = attributesOf(event, this.#host.captureContent);
    (run?.now ?? this.#span).note(event.type, attributes, event.at);
  }

  #startRun(event: ReeveEvent<"run.start">): void {
    const { runId, agent, at, parentRunId, priority } = event;
    if (this.#runs.has(runId)) return;
    const parent = (parentRunId && this.#runs.get(parentRunId)?.span) ?? this.#span;
    const name = AgentId.type(agent);
    const attributes = {
      [genAi.operation]: "invoke_agent",
      [genAi.agentName]: name,
      [genAi.agentId]: agent,
      [reeve.run]: runId,
      [reeve.priority]: priority,
    };
    const start = { id: SpanId.of(runId), at, attributes };
    const span = this.#host.starter.startChild(parent, `invoke_agent ${name}`, start);
    this.#runs.set(runId, new RunSpans(this.#host, span));
    this.#live.add(runId);
  }

  #endRun(event: ReeveEvent<"run.end">, run: RunSpans | undefined): void {
    const { runId, at } = event;
    run?.end(at);
    if (run) this.#conclude(run.span, event, at);
    this.#leaveQueue(runId, event);
    this.#live.delete(runId);
    if (runId === this.#root) this.#end ??= event;
    if (this.#end && this.isOver) this.#conclude(this.#span, this.#end, at);
  }

  /** It ended before it had its slot. */
  #leaveQueue(runId: RunId, { at, stopReason }: ReeveEvent<"run.end">): void {
    const queued = this.#queued.get(runId);
    this.#queued.delete(runId);
    queued?.fail(stopReason);
    queued?.end(at);
  }

  #conclude(span: OpenSpan, event: ReeveEvent<"run.end">, at: number): void {
    const { status, stopReason, usage, costMicros: spend, error } = event;
    span.set({
      [reeve.status]: status,
      [reeve.stopReason]: stopReason,
      [reeve.costUsd]: Money.usd(spend),
      ...usageAttributes(usage),
    });
    if (status === "failed")
      span.fail(error?.code ?? stopReason, toErrorText(error, this.#host.captureContent));
    span.end(at);
  }

  #spawn(
    event: ReeveEvent<"spawn.queued" | "spawn.admitted" | "spawn.denied">,
    spawner: RunSpans | undefined,
  ): void {
    const { at } = event;
    if (event.type === "spawn.denied") {
      const span = this.#startSpawn(event, spawner, {});
      span.fail(event.reason);
      return span.end(at);
    }
    const { child } = event;
    if (!this.#runs.has(child)) this.#live.add(child);
    const span = this.#queued.get(child) ?? this.#startSpawn(event, spawner, { [reeve.child]: child });
    if (event.type === "spawn.queued") return void this.#queued.set(child, span);
    this.#queued.delete(child);
    span.end(at);
  }

  #startSpawn(
    { eventId, at, childAgent }: ReeveEvent<"spawn.queued" | "spawn.admitted" | "spawn.denied">,
    spawner: RunSpans | undefined,
    more: Attributes,
  ): OpenSpan {
    const name = AgentId.type(childAgent);
    const attributes = { [genAi.agentName]: name, ...more };
    const start = { id: SpanId.of(eventId), at, attributes };
    return this.#host.starter.startChild(spawner?.now ?? this.#span, `spawn ${name}`, start);
  }
}
