import {
  Json,
  MessageId,
  Supervision,
  type Agent,
  type AgentId,
  type AskOptions,
  type AskOutcome,
  type ChatMessage,
  type ChildHandle,
  type Continuation,
  type Envelope,
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
  type ToolResult,
  type TopicId,
} from "#kernel";
import { uuidFrom } from "../random.ts";
import { refuseInStep } from "./ambient.ts";
import type { Helpers } from "./helpers.ts";
import { llm, type ModelHost } from "./model-step.ts";
import { journaled, placeStep, userStep } from "./step.ts";
import { callTool, type ToolHost } from "./tool-step.ts";

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

  async llm(messages: readonly ChatMessage[], options: LlmOptions = {}): Promise<ModelResponse> {
    this.#enter();
    return llm(this.#host, messages, options);
  }

  async tool(name: string, input: Json): Promise<ToolResult> {
    this.#enter();
    return callTool(this.#host, this, name, input);
  }

  async step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options: StepOptions = {},
  ): Promise<T> {
    this.#enter();
    return Json.as(await userStep(this.#host, name, run, options));
  }

  async spawn(agent: Hireable, task: string | null, options: SpawnOptions = {}): Promise<ChildHandle> {
    this.#enter();
    return this.#host.helpers.hire(agent, task, options);
  }

  async spawnChild(
    task: string,
    { tools = [] }: { readonly tools?: readonly string[] } = {},
  ): Promise<ChildHandle> {
    this.#enter();
    return this.#host.helpers.hire(this.#host.agent, task, { retention: "none", tools });
  }

  join(handle: ChildHandle, options?: { readonly onPause?: "wait" }): Promise<RunResult>;
  join(handle: ChildHandle, options: { readonly onPause: "return" }): Promise<JoinOutcome>;
  async join(
    handle: ChildHandle,
    options: { readonly onPause?: "wait" | "return" } = {},
  ): Promise<JoinOutcome> {
    this.#enter();
    return this.#host.helpers.join(handle, options.onPause ?? "wait");
  }

  async ask(target: Hireable | ChildHandle, text: string, options: AskOptions): Promise<AskOutcome> {
    this.#enter();
    return this.#host.helpers.ask(target, text, options);
  }

  async askOrThrow(
    target: Hireable | ChildHandle,
    text: string,
    options: AskOptions,
  ): Promise<Extract<AskOutcome, { readonly kind: "replied" }>> {
    this.#enter();
    return this.#host.helpers.askOrThrow(target, text, options);
  }

  async reply(message: Envelope, text: string, data?: Json): Promise<void> {
    this.#enter();
    await this.#host.helpers.reply(message, text, data);
  }

  async send(to: RunId | AgentId | ChildHandle, text: string, data?: Json): Promise<void> {
    this.#enter();
    await this.#host.helpers.send(typeof to === "string" ? to : to.runId, text, data);
  }

  async emit(data: Json, topic: TopicId = Supervision.progressTopic(this.supervision)): Promise<void> {
    this.#enter();
    await this.#host.driver.report("emit", { topic, data, messageId: MessageId.of(this.uuid()) });
  }

  async *follow(topic: TopicId): AsyncGenerator<Envelope, void> {
    this.#enter();
    const { driver } = this.#host;
    const run = this.supervision.runId;
    await driver.call("follow", { run, topic, on: true, at: driver.time });
    try {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one message after the other
        const { value } = await driver.waits.first([`topic/${topic}`]);
        yield Json.as<Envelope>(value);
      }
    } finally {
      if (!this.meta.cancellation.cancelled)
        await driver.call("follow", { run, topic, on: false, at: driver.time });
    }
  }

  async sleepUntil(at: number): Promise<void> {
    this.#enter();
    await this.#host.driver.waits.first([], { at });
  }

  async waitFor(signal: string, { timeoutS }: { readonly timeoutS?: number } = {}): Promise<Json> {
    this.#enter();
    const { driver } = this.#host;
    const at = timeoutS === undefined ? null : driver.time + timeoutS * 1000;
    const { value } = await driver.waits.first([`signal/${signal}`], { at });
    return value;
  }

  async now(): Promise<number> {
    this.#enter();
    const { t } = await journaled(this.#host, placeStep(this.#host, "now", ""), async () => ({}));
    return t;
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

  async status(run: RunId | ChildHandle): Promise<RunStatus> {
    this.#enter();
    const id = typeof run === "string" ? run : run.runId;
    return (await this.#host.driver.call("status", { run: id })) ?? "pending";
  }

  async cancel(run: RunId | ChildHandle, reason: string): Promise<void> {
    this.#enter();
    const { driver } = this.#host;
    const id = typeof run === "string" ? run : run.runId;
    await driver.call("cancel", { run: id, reason, at: driver.time });
  }

  continueAs(state: Json): Continuation {
    this.#enter();
    return { kind: "continue-as", state };
  }

  #enter(): void {
    refuseInStep();
    this.#host.driver.check();
  }
}
