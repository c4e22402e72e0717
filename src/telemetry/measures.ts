import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import { AgentId, Money, type NumberedEvent, type ReeveEvent } from "#kernel";
import { genAi, reeve } from "./conventions.ts";

const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const tokens = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
/** Runs last from seconds to days. */
const runSeconds = [0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 604_800];

const counted = [
  "run.end",
  "model.end",
  "tool.end",
  "budget.settled",
  "retry.start",
  "budget.denied",
  "permission.denied",
  "spawn.denied",
] as const;

const isCounted = (
  event: NumberedEvent,
): event is Extract<NumberedEvent, { type: (typeof counted)[number] }> =>
  counted.some((type) => type === event.type);

/** Counts and durations. Attributes are names of agents, models and tools and kinds of outcome: never ids. */
export class Measures {
  readonly #modelSeconds: Histogram;
  readonly #tokens: Histogram;
  readonly #toolSeconds: Histogram;
  readonly #runSeconds: Histogram;
  readonly #runs: Counter;
  readonly #cost: Counter;
  readonly #denials: Counter;
  readonly #retries: Counter;
  readonly #inDoubt: Counter;
  readonly #reduced: Counter;
  readonly #providerOf: (model: string) => string | undefined;

  constructor(meter: Meter, providerOf: (model: string) => string | undefined) {
    const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]): Histogram =>
      meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } });
    this.#modelSeconds = histogram("gen_ai.client.operation.duration", "s", seconds);
    this.#tokens = histogram("gen_ai.client.token.usage", "{token}", tokens);
    this.#toolSeconds = histogram("gen_ai.execute_tool.duration", "s", seconds);
    this.#runSeconds = histogram("gen_ai.invoke_agent.duration", "s", runSeconds);
    this.#runs = meter.createCounter("reeve.runs", { unit: "{run}" });
    this.#cost = meter.createCounter("reeve.cost", { unit: "{USD}" });
    this.#denials = meter.createCounter("reeve.denials", { unit: "{denial}" });
    this.#retries = meter.createCounter("reeve.retries", { unit: "{retry}" });
    this.#inDoubt = meter.createCounter("reeve.in_doubt", { unit: "{call}" });
    this.#reduced = meter.createCounter("reeve.store.reduced", { unit: "{tree}" });
    this.#providerOf = providerOf;
  }

  take(event: NumberedEvent): void {
    if (!isCounted(event)) return;
    const agent = { [genAi.agentName]: AgentId.type(event.agent) };
    switch (event.type) {
      case "run.end":
        return this.#endRun(event, agent);
      case "model.end":
        return this.#endModel(event, agent);
      case "tool.end": {
        const failed = event.status === "ok" ? {} : { [genAi.errorType]: event.status };
        const attributes = { ...agent, [genAi.toolName]: event.tool, ...failed };
        return this.#toolSeconds.record(event.durationMs / 1000, attributes);
      }
      case "budget.settled":
        this.#cost.add(Money.usd(event.costMicros), agent);
        if (event.inDoubt) this.#inDoubt.add(1, { ...agent, [genAi.operation]: "chat" });
        return;
      case "retry.start":
        return this.#retries.add(1, { ...agent, [genAi.errorType]: event.error.code });
      case "budget.denied":
        return this.#denials.add(1, { ...agent, "reeve.by": "budget", "reeve.reason": event.dimension });
      case "permission.denied":
        return this.#denials.add(1, { ...agent, "reeve.by": "permission", [genAi.toolName]: event.tool });
      case "spawn.denied":
        return this.#denials.add(1, { ...agent, "reeve.by": "headcount", "reeve.reason": event.reason });
    }
  }

  /** Counts a tree that is stored in reduced form. */
  countReduced(): void {
    this.#reduced.add(1);
  }

  /** Counts calls that began and whose outcome is unknown. */
  countLost({ type, agent }: ReeveEvent<"model.start" | "tool.start">, count: number): void {
    const operation = type === "model.start" ? "chat" : "execute_tool";
    this.#inDoubt.add(count, { [genAi.agentName]: AgentId.type(agent), [genAi.operation]: operation });
  }

  #endRun({ status, stopReason, durationMs, error }: ReeveEvent<"run.end">, agent: Attributes): void {
    this.#runs.add(1, { ...agent, [reeve.status]: status, [reeve.stopReason]: stopReason });
    const failed = status === "failed" ? { [genAi.errorType]: error?.code ?? stopReason } : {};
    this.#runSeconds.record(durationMs / 1000, { ...agent, ...failed });
  }

  #endModel({ model, durationMs, usage, error }: ReeveEvent<"model.end">, agent: Attributes): void {
    const provider = this.#providerOf(model);
    const call = {
      ...agent,
      [genAi.operation]: "chat",
      [genAi.model]: model,
      ...(provider !== undefined && { [genAi.provider]: provider }),
    };
    this.#modelSeconds.record(durationMs / 1000, {
      ...call,
      ...(error && { [genAi.errorType]: error.code }),
    });
    if (usage.input + usage.output === 0) return;
    this.#tokens.record(usage.input, { ...call, [genAi.tokenType]: "input" });
    this.#tokens.record(usage.output, { ...call, [genAi.tokenType]: "output" });
  }
}
