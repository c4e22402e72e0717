import {
  agentEventTypes,
  checkDuration,
  checkMoment,
  decodeError,
  Json,
  Labels,
  MessageId,
  Supervision,
  type Agent,
  type AgentEventType,
  type AgentId,
  type AskOptions,
  type AskOutcome,
  type AskReply,
  type ChatMessage,
  type GuardedMoment,
  type GuardrailDecision,
  type ChildHandle,
  Continuation,
  type CopyOptions,
  type Envelope,
  type EventPayloads,
  type AgentSpec,
  type Input,
  type JoinOutcome,
  type LlmOptions,
  type ModelResponse,
  type RunContext,
  type RunConversation,
  type RunId,
  type RunMeta,
  type RunResult,
  type RunStatus,
  type SpawnOptions,
  type StepCall,
  type Subscription,
  type StepOptions,
  type ToolOptions,
  type ToolResult,
  type TopicId,
} from "#kernel";
import { checkData } from "./driver/check-data.ts";
import type { Driver } from "./driver/driver.ts";
import { ignoreRejection } from "./driver/ignore-rejection.ts";
import { checkSize, maxEventBytes, type TurnPosition } from "#tree";
import type { Children } from "./children.ts";
import { guard, isGuarded } from "./guardrail-step.ts";
import { interceptInput } from "./interceptions.ts";
import type { Messaging } from "./messaging.ts";
import { llm } from "./model-step.ts";
import type { RunServices } from "./run-services.ts";
import { runCompaction } from "./compaction-step.ts";
import { readConversation } from "./read-conversation.ts";
import { takeReview } from "./review-step.ts";
import { placeCopy, saveTurn } from "./save-turn.ts";
import { runJournaled, placeStep, refuseInStep, userStep } from "./step.ts";
import { callTool } from "./tool-step.ts";

/** The parts of an execution that its context combines. */
interface ContextDeps {
  readonly services: RunServices;
  readonly agent: Agent;
  readonly children: Children;
  readonly messaging: Messaging;
  /** The state from `continueAs`. Null in the first execution. */
  readonly state: Json;
}

/** The `ctx` of one execution. Every method refuses calls inside a step, then checks whether the run may continue. */
export class JournaledContext implements RunContext {
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly state: Json;
  readonly #services: RunServices;
  readonly #driver: Driver;
  readonly #agent: Agent;
  readonly #children: Children;
  readonly #messaging: Messaging;

  constructor({ services, agent, children, messaging, state }: ContextDeps) {
    this.#services = services;
    this.#driver = services.engine.driver;
    this.#agent = agent;
    this.#children = children;
    this.#messaging = messaging;
    this.meta = services.identity.meta;
    this.supervision = services.identity.supervision;
    this.state = state;
  }

  llm(messages: readonly ChatMessage[], options: LlmOptions = {}): Promise<ModelResponse> {
    return this.#go(() => llm(this.#services, messages, options));
  }

  tool(name: string, input: Json, options: ToolOptions = {}): Promise<ToolResult> {
    return this.#go(() => callTool(this.#services, this, { name, input, callId: options.callId }));
  }

  checkGuardrails(moment: GuardedMoment, text: string): Promise<GuardrailDecision> | null {
    refuseInStep();
    if (!isGuarded(this.#services, moment)) return null;
    this.#driver.check();
    return ignoreRejection(guard(this.#services, moment, text));
  }

  interceptInput(text: string): Promise<string> | null {
    refuseInStep();
    if (!this.#services.policy.launch.interceptsInput) return null;
    this.#driver.check();
    const heard = interceptInput(this.#services, text);
    return heard && ignoreRejection(heard);
  }

  reportLoop(decision: "warn" | "block", reason: string): void {
    this.#enter();
    const { outbox, time } = this.#driver;
    outbox.event("guardrail.trip", time, null, { guardrail: "loop-detection", reason, decision });
  }

  readonly session: RunConversation = {
    append: (message) => {
      this.#enter();
      const { session, labels } = this.#services.state;
      session.append(message, labels.told);
    },
    goesOn: () => this.#services.state.session.goesOn,
    read: (select) => this.#go(() => readConversation(this.#services, select)),
    save: () => this.#go(() => saveTurn(this.#services)),
    compact: () => {
      this.#enter();
      this.#services.state.session.askForCompaction();
    },
    runCompaction: (request) => this.#go(() => runCompaction(this.#services, request)),
    takeReview: (every) => this.#go(() => takeReview(this.#services, every)),
  };

  get labels(): Labels {
    return this.#services.state.labels.now;
  }

  step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options: StepOptions = {},
  ): Promise<T> {
    return this.#go(async () => {
      const value = await userStep(this.#services, { name, run, ...options });
      if (options.labels) this.#services.state.labels.join(Labels.of(options.labels), "step", name);
      return Json.as<T>(value);
    });
  }

  spawn<Output>(
    agent: AgentSpec<Output>,
    task: Input | null,
    options: SpawnOptions = {},
  ): Promise<ChildHandle<Output>> {
    return this.#go(() => this.#children.spawn(agent, task, options));
  }

  spawnChild(task: Input, { tools, history = false }: CopyOptions = {}): Promise<ChildHandle> {
    const spawn = (turn: TurnPosition | null): Promise<ChildHandle> =>
      this.#children.spawn(this.#agent, task, { retention: "none", tools, ...(turn && { turn }) });
    return this.#go(() => {
      const place = history ? placeCopy(this.#services) : null;
      return place instanceof Promise ? place.then(spawn) : spawn(place);
    });
  }

  join<Output>(
    handle: ChildHandle<Output>,
    options?: { readonly onPause?: "wait" },
  ): Promise<RunResult<Output>>;
  join<Output>(
    handle: ChildHandle<Output>,
    options: { readonly onPause: "return" },
  ): Promise<JoinOutcome<Output>>;
  join<Output>(
    handle: ChildHandle<Output>,
    options: { readonly onPause?: "wait" | "return" } = {},
  ): Promise<JoinOutcome<Output>> {
    return this.#go(() => this.#children.join(handle, options.onPause ?? "wait"));
  }

  ask<Output>(
    target: AgentSpec<Output> | ChildHandle<Output>,
    input: Input,
    options: AskOptions,
  ): Promise<AskOutcome<Output>> {
    return this.#go(() => this.#messaging.ask(target, input, options));
  }

  askOrThrow<Output>(
    target: AgentSpec<Output> | ChildHandle<Output>,
    input: Input,
    options: AskOptions,
  ): Promise<AskReply<Output>> {
    return this.#go(() => this.#messaging.askOrThrow(target, input, options));
  }

  reply(message: Envelope, text: string, data?: Json): Promise<void> {
    return this.#go(() => this.#messaging.reply(message, text, data));
  }

  send(to: RunId | AgentId | ChildHandle, input: Input, data?: Json): Promise<void> {
    return this.#go(() => this.#messaging.send(typeof to === "string" ? to : to.runId, input, data));
  }

  emit(data: Json, topic: TopicId = Supervision.progressTopic(this.supervision)): Promise<void> {
    return this.#go(async () => {
      const messageId = MessageId.of(this.uuid());
      const { labels } = this.#services.state;
      const refusal = await this.#driver.report("emit", { topic, data, messageId, labels: labels.told });
      if (refusal) throw decodeError(refusal.error);
    });
  }

  subscribe(topic: TopicId): Subscription {
    this.#enter();
    return this.#services.state.subscriptions.subscribe(topic);
  }

  record<Type extends AgentEventType>(type: Type, payload: EventPayloads[Type]): void {
    this.#enter();
    if (!agentEventTypes.includes(type))
      throw new TypeError(`agent code cannot record ${type}; it may record ${agentEventTypes.join(", ")}`);
    checkData("an event", { data: payload });
    checkSize(`the payload of ${type}`, payload, maxEventBytes);
    const { outbox, time } = this.#driver;
    outbox.event(type, time, null, payload);
  }

  sleepUntil(at: number): Promise<void> {
    return this.#go(async () => {
      await this.#driver.waits.first([], { at: checkMoment("sleepUntil", at) });
    });
  }

  waitFor(signal: string, { timeoutS }: { readonly timeoutS?: number } = {}): Promise<Json> {
    return this.#go(async () => {
      const driver = this.#driver;
      const at = timeoutS === undefined ? null : driver.time + checkDuration("timeoutS", timeoutS) * 1000;
      return (await driver.waits.first([`signal/${signal}`], { at })).value;
    });
  }

  now(): Promise<number> {
    return this.#go(async () => {
      const place = placeStep(this.#services.engine, "now", "");
      const { t } = await runJournaled(this.#services, place, async () => ({}));
      return t;
    });
  }

  get steps(): number {
    return this.#driver.steps.count;
  }

  get journalLength(): number {
    return this.#services.state.journal.length;
  }

  random(): number {
    refuseInStep();
    return this.#services.state.random.number();
  }

  uuid(): string {
    refuseInStep();
    return this.#services.state.random.uuid();
  }

  check(): void {
    this.#enter();
  }

  status(run: RunId | ChildHandle): Promise<RunStatus> {
    const id = typeof run === "string" ? run : run.runId;
    return this.#go(async () => (await this.#driver.call("status", { run: id })) ?? "pending");
  }

  cancel(run: RunId | ChildHandle, reason: string): Promise<void> {
    const driver = this.#driver;
    const id = typeof run === "string" ? run : run.runId;
    return this.#go(async () => void (await driver.call("cancel", { run: id, reason, at: driver.time })));
  }

  continueAs(state: Json): Continuation {
    this.#enter();
    return Continuation.of(state);
  }

  #enter(): void {
    refuseInStep();
    this.#driver.check();
  }

  #go<T>(act: () => Promise<T>): Promise<T> {
    try {
      this.#enter();
      this.#services.state.journal.check();
      return ignoreRejection(act());
    } catch (error) {
      return ignoreRejection(Promise.reject(error));
    }
  }
}
