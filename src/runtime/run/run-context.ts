import {
  Json,
  Labels,
  MessageId,
  Supervision,
  type Agent,
  type AgentId,
  type AskOptions,
  type AskOutcome,
  type ChatMessage,
  type GuardedMoment,
  type GuardrailDecision,
  type ChildHandle,
  type Continuation,
  type Envelope,
  type EventPayloads,
  type EventType,
  type Hireable,
  type JoinOutcome,
  type LlmOptions,
  type ModelResponse,
  type RunContext,
  type RunId,
  type RunMeta,
  type RunResult,
  type RunStatus,
  type SpawnOptions,
  type StepCall,
  type StepOptions,
  type ToolOptions,
  type ToolResult,
  type TopicId,
} from "#kernel";
import { quiet } from "../driver/quiet.ts";
import { uuidFrom } from "../random.ts";
import { refuseInStep } from "./ambient.ts";
import { guard } from "./guard-step.ts";
import type { Helpers } from "./helpers.ts";
import type { ModelHost } from "./model-host.ts";
import { llm } from "./model-step.ts";
import { journaled, placeStep, userStep } from "./step.ts";
import type { ToolHost } from "./tool-host.ts";
import { callTool } from "./tool-step.ts";

/** Everything a run context stands on. */
export interface ContextHost extends ModelHost, ToolHost {
  readonly agent: Agent;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly helpers: Helpers;
  readonly random: () => number;
  readonly state: Json;
}

/** The `ctx` of one execution. Every method refuses inside a step, then looks whether the run may go on. */
export class JournaledContext implements RunContext {
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly state: Json;
  readonly #host: ContextHost;

  constructor(host: ContextHost) {
    this.#host = host;
    this.meta = host.meta;
    this.supervision = host.supervision;
    this.state = host.state;
  }

  llm(messages: readonly ChatMessage[], options: LlmOptions = {}): Promise<ModelResponse> {
    return this.#go(() => llm(this.#host, messages, options));
  }

  tool(name: string, input: Json, options: ToolOptions = {}): Promise<ToolResult> {
    return this.#go(() => callTool(this.#host, this, name, input, options));
  }

  guard(moment: GuardedMoment, text: string): Promise<GuardrailDecision> | null {
    this.#enter();
    const guarded = guard(this.#host, moment, text);
    return guarded && quiet(guarded);
  }

  get labels(): Labels {
    return this.#host.labels.now;
  }

  step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options: StepOptions = {},
  ): Promise<T> {
    return this.#go(async () => {
      const value = await userStep(this.#host, name, run, options);
      if (options.labels) this.#host.labels.join(Labels.of(options.labels));
      return Json.as<T>(value);
    });
  }

  spawn(agent: Hireable, task: string | null, options: SpawnOptions = {}): Promise<ChildHandle> {
    return this.#go(() => this.#host.helpers.hire(agent, task, options));
  }

  spawnChild(
    task: string,
    { tools = [] }: { readonly tools?: readonly string[] } = {},
  ): Promise<ChildHandle> {
    return this.#go(() => this.#host.helpers.hire(this.#host.agent, task, { retention: "none", tools }));
  }

  join(handle: ChildHandle, options?: { readonly onPause?: "wait" }): Promise<RunResult>;
  join(handle: ChildHandle, options: { readonly onPause: "return" }): Promise<JoinOutcome>;
  join(handle: ChildHandle, options: { readonly onPause?: "wait" | "return" } = {}): Promise<JoinOutcome> {
    return this.#go(() => this.#host.helpers.join(handle, options.onPause ?? "wait"));
  }

  ask(target: Hireable | ChildHandle, text: string, options: AskOptions): Promise<AskOutcome> {
    return this.#go(() => this.#host.helpers.ask(target, text, options));
  }

  askOrThrow(
    target: Hireable | ChildHandle,
    text: string,
    options: AskOptions,
  ): Promise<Extract<AskOutcome, { readonly kind: "replied" }>> {
    return this.#go(() => this.#host.helpers.askOrThrow(target, text, options));
  }

  reply(message: Envelope, text: string, data?: Json): Promise<void> {
    return this.#go(() => this.#host.helpers.reply(message, text, data));
  }

  send(to: RunId | AgentId | ChildHandle, text: string, data?: Json): Promise<void> {
    return this.#go(() => this.#host.helpers.send(typeof to === "string" ? to : to.runId, text, data));
  }

  emit(data: Json, topic: TopicId = Supervision.progressTopic(this.supervision)): Promise<void> {
    return this.#go(async () => {
      const { driver, labels } = this.#host;
      const messageId = MessageId.of(this.uuid());
      await driver.report("emit", { topic, data, messageId, labels: labels.told });
    });
  }

  follow(topic: TopicId): AsyncIterable<Envelope> {
    this.#enter();
    return this.#follow(topic);
  }

  async *#follow(topic: TopicId): AsyncGenerator<Envelope, void> {
    const { driver } = this.#host;
    const following = { run: this.supervision.runId, topic, subscription: this.uuid() };
    const key = `topic/${following.subscription}`;
    await driver.call("follow", { ...following, on: true, at: driver.time });
    try {
      for (;;) {
        const { value } = await driver.waits.first([key]);
        yield Json.as<Envelope>(value);
      }
    } finally {
      driver.waits.close(key);
      if (!this.meta.cancellation.cancelled)
        await driver.call("follow", { ...following, on: false, at: driver.time });
    }
  }

  note<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void {
    this.#enter();
    this.#host.observer.note(type, payload);
  }

  sleepUntil(at: number): Promise<void> {
    return this.#go(async () => void (await this.#host.driver.waits.first([], { at })));
  }

  waitFor(signal: string, { timeoutS }: { readonly timeoutS?: number } = {}): Promise<Json> {
    return this.#go(async () => {
      const { driver } = this.#host;
      const at = timeoutS === undefined ? null : driver.time + timeoutS * 1000;
      return (await driver.waits.first([`signal/${signal}`], { at })).value;
    });
  }

  now(): Promise<number> {
    return this.#go(async () => {
      const { t } = await journaled(this.#host, placeStep(this.#host, "now", ""), async () => ({}));
      return t;
    });
  }

  get steps(): number {
    return this.#host.driver.steps;
  }

  random(): number {
    refuseInStep();
    return this.#host.random();
  }

  uuid(): string {
    refuseInStep();
    return uuidFrom(this.#host.random);
  }

  check(): void {
    this.#enter();
  }

  status(run: RunId | ChildHandle): Promise<RunStatus> {
    const id = typeof run === "string" ? run : run.runId;
    return this.#go(async () => (await this.#host.driver.call("status", { run: id })) ?? "pending");
  }

  cancel(run: RunId | ChildHandle, reason: string): Promise<void> {
    const { driver } = this.#host;
    const id = typeof run === "string" ? run : run.runId;
    return this.#go(async () => void (await driver.call("cancel", { run: id, reason, at: driver.time })));
  }

  continueAs(state: Json): Continuation {
    this.#enter();
    return { kind: "continue-as", state };
  }

  #enter(): void {
    refuseInStep();
    this.#host.driver.check();
  }

  #go<T>(act: () => Promise<T>): Promise<T> {
    try {
      this.#enter();
      return quiet(act());
    } catch (error) {
      return quiet(Promise.reject(error));
    }
  }
}
