import { type Attributes, SpanKind } from "@opentelemetry/api";
import { SpanId, type NumberedEvent, type ReeveEvent, type StepId, type Usage } from "#kernel";
import { contentAttributes, type StepContent } from "./content-attributes.ts";
import { genAi, reeve } from "./conventions.ts";
import { attributesOf, toErrorText } from "./event-attributes.ts";
import type { Measures } from "./measures.ts";
import type { OpenSpan } from "./open-span.ts";
import { OpenStep } from "./open-step.ts";
import type { SpanStarter } from "./span-starter.ts";

/** State shared by the spans of all runs of a tree. */
export interface TraceDeps {
  readonly starter: SpanStarter;
  readonly measures: Measures;
  readonly providerOf: (model: string) => string | undefined;
  readonly captureContent: boolean;
}

type StepEvent = Extract<
  NumberedEvent,
  { readonly type: `model.${"start" | "end"}` | `tool.${"start" | "end"}` | "retry.start" | "budget.settled" }
>;

/** The spans below one run: its cycles, and their model and tool calls. */
export class RunSpans {
  /** The run's own. */
  readonly span: OpenSpan;
  readonly #host: TraceDeps;
  readonly #steps = new Map<StepId, OpenStep>();
  /** Steps whose spans have ended: later events create no second span. */
  readonly #ended = new Set<StepId>();
  /** The step of each open attempt; for agent code used as a tool, of each open call. */
  readonly #stepOf = new Map<string, StepId>();
  #cycle: OpenSpan | null = null;

  constructor(host: TraceDeps, span: OpenSpan) {
    this.#host = host;
    this.span = span;
  }

  /** The span that current events belong to. */
  get now(): OpenSpan {
    return this.#cycle ?? this.span;
  }

  startCycle({ step, eventId, at }: ReeveEvent<"cycle.start">): void {
    this.endCycle(at);
    const start = { id: SpanId.of(eventId), at, attributes: { [reeve.cycle]: step } };
    this.#cycle = this.#host.starter.startChild(this.span, "cycle", start);
  }

  /** Also ends open spans in it, whose calls will have no reported outcome. */
  endCycle(at: number): void {
    for (const [id, step] of this.#steps) {
      step.close(at);
      this.#ended.add(id);
    }
    this.#steps.clear();
    this.#stepOf.clear();
    this.#cycle?.end(at);
    this.#cycle = null;
  }

  /** Ends the run: it gets no more events, but its descendants may still need its span. */
  end(at: number): void {
    this.endCycle(at);
    this.#ended.clear();
  }

  take(event: StepEvent): void {
    switch (event.type) {
      case "model.start":
      case "tool.start":
        return this.#begin(event);
      case "model.end":
        return this.#endModel(event);
      case "tool.end":
        return this.#endTool(event);
      case "retry.start": {
        const { captureContent } = this.#host;
        const attributes = { ...attributesOf(event, captureContent), [genAi.errorType]: event.error.code };
        return this.#open(event.attempt)?.note("retry", attributes, event.at);
      }
      case "budget.settled":
        if (event.attempt) this.#open(event.attempt)?.settle(event.attempt, event.costMicros, event.inDoubt);
    }
  }

  /** Adds the content of a step that has begun. */
  describe(step: StepId, content: StepContent): void {
    this.#steps.get(step)?.set(contentAttributes(content));
  }

  #begin(event: ReeveEvent<"model.start" | "tool.start">): void {
    const { step, at, attempt } = event;
    if (this.#ended.has(step)) return;
    const open = this.#steps.get(step) ?? new OpenStep(this.#startStep(event));
    this.#steps.set(step, open);
    this.#stepOf.set(toCallKey(event), step);
    const lost = open.begin(attempt, at);
    if (lost > 0) this.#host.measures.countLost(event, lost);
  }

  #startStep(event: ReeveEvent<"model.start" | "tool.start">): OpenSpan {
    const { step, at } = event;
    const common = { id: SpanId.of(step), at };
    if (event.type === "model.start") {
      const { model } = event;
      const provider = this.#host.providerOf(model);
      const attributes: Attributes = { [genAi.operation]: "chat", [genAi.model]: model, [reeve.step]: step };
      if (provider !== undefined) attributes[genAi.provider] = provider;
      return this.#host.starter.startChild(this.now, `chat ${model}`, {
        ...common,
        attributes,
        kind: SpanKind.CLIENT,
      });
    }
    const { tool, callId } = event;
    const attributes = {
      [genAi.operation]: "execute_tool",
      [genAi.toolName]: tool,
      [genAi.toolCall]: callId,
      [reeve.step]: step,
    };
    return this.#host.starter.startChild(this.now, `execute_tool ${tool}`, { ...common, attributes });
  }

  #endModel(event: ReeveEvent<"model.end">): void {
    const { attempt, at, error, usage } = event;
    const attributes = usageAttributes(usage);
    if (!error) return this.#succeed(event, attributes);
    const failure = { at, type: error.code, message: toErrorText(error, this.#host.captureContent) };
    this.#open(toCallKey(event))?.fail(attempt, failure, attributes);
  }

  #endTool(event: ReeveEvent<"tool.end">): void {
    const { attempt, at, status } = event;
    if (status === "ok") return this.#succeed(event, {});
    const type = status === "error" ? "tool-error" : "unknown";
    this.#open(toCallKey(event))?.fail(attempt, { at, type }, {});
  }

  #succeed(event: ReeveEvent<"model.end" | "tool.end">, attributes: Attributes): void {
    const step = this.#stepOf.get(toCallKey(event));
    if (step === undefined) return;
    this.#steps.get(step)?.succeed(event.at, attributes);
    this.#steps.delete(step);
    this.#ended.add(step);
  }

  #open(key: string | null): OpenStep | undefined {
    const step = key === null ? undefined : this.#stepOf.get(key);
    return step && this.#steps.get(step);
  }
}

/** A try has a name of its own; a tool that is agent code has no tries, only its call. */
function toCallKey(event: ReeveEvent<"model.start" | "model.end" | "tool.start" | "tool.end">): string {
  return event.attempt ?? ("callId" in event ? event.callId : event.eventId);
}

/** Returns token usage by the names of the conventions. */
export function usageAttributes({ input, output, cachedInput }: Usage): Attributes {
  return {
    [genAi.inputTokens]: input,
    [genAi.outputTokens]: output,
    ...(cachedInput !== undefined && { [genAi.cachedTokens]: cachedInput }),
  };
}
