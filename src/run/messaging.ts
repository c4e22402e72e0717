import {
  AskFailedError,
  checkDuration,
  decodeError,
  Json,
  MessageId,
  type AgentId,
  type AskOptions,
  type AskOutcome,
  type AskReply,
  type ChildHandle,
  type Envelope,
  type AgentSpec,
  type Inbox,
  type Input,
  type RunId,
  type RunResult,
  type Sender,
} from "#kernel";
import { valueText } from "#base";
import type { InboxItem } from "#tree";
import type { Children } from "./children.ts";
import type { Driver } from "./driver/driver.ts";
import type { Journal } from "./driver/journal.ts";
import { ignoreRejection } from "./driver/ignore-rejection.ts";
import type { KeepInput } from "./keep-input.ts";
import type { RunLabels } from "./run-services.ts";
import { refuseInStep } from "./step.ts";

interface MessagingDeps {
  readonly driver: Driver;
  readonly runId: RunId;
  readonly agentId: AgentId;
  readonly uuid: () => string;
  /** The labels of the content that the run has seen. They are sent with every message. */
  readonly labels: RunLabels;
  readonly children: Children;
  readonly keepInput: KeepInput;
}

/** Sends messages to other runs: asks, replies and sends. */
export class Messaging {
  readonly #deps: MessagingDeps;
  /** The message whose replies are dropped. Null: none. */
  #deferred: MessageId | null = null;

  constructor(deps: MessagingDeps) {
    this.#deps = deps;
  }

  async ask<Output>(
    target: AgentSpec<Output> | ChildHandle<Output>,
    input: Input,
    options: AskOptions,
  ): Promise<AskOutcome<Output>> {
    checkDuration("timeoutS", options.timeoutS);
    if (!("runId" in target)) {
      const handle = await this.#deps.children.spawn(target, input, { ...options, asks: true });
      return this.#awaitReply(handle, handle.firstMessage, options);
    }
    const { driver, runId, children } = this.#deps;
    const task = children.takeTask(target.runId);
    // The child already has the task that it was spawned with, so the same message is not delivered again.
    const { print, parts } = this.#deps.keepInput(input);
    const isTask = task !== undefined && task.print === print;
    const messageId = isTask ? task.message : MessageId.of(this.#deps.uuid());
    const reply = await driver.call("send", {
      to: target.runId,
      messageId,
      from: this.#toSender(),
      ...(parts instanceof Promise ? await parts : parts),
      askedBy: runId,
      labels: this.#deps.labels.told,
      at: driver.time,
    });
    if ("error" in reply) throw decodeError(reply.error);
    if ("deadLetter" in reply) {
      return { kind: "failed", handle: target, error: { code: "dead-letter", message: reply.deadLetter } };
    }
    children.expect(reply.to);
    return this.#awaitReply({ ...target, runId: reply.to }, messageId, options);
  }

  async #awaitReply<Output>(
    handle: ChildHandle<Output>,
    ask: MessageId | null,
    options: AskOptions,
  ): Promise<AskOutcome<Output>> {
    const { driver } = this.#deps;
    const { waits } = driver;
    const { runId } = handle;
    const timeoutMs = options.timeoutS * 1000;
    const returns = options.onPause === "return";
    const keys = [`reply/${ask}`, `ended/${runId}`, ...(returns ? [`paused/${runId}`] : [])];
    for (let at: number | null = driver.time + timeoutMs; ;) {
      const known = waits.peek(`reply/${ask}`) ? null : this.#getOutcome(handle, returns);
      if (known) return this.#closeAsk(ask, known);
      const { key, value } = await waits.first([...keys, `ask-goes-on/${ask}`], { at, on: runId });
      if (key.startsWith("reply/")) {
        const { text, data = text } = Json.as<{ readonly text: string; readonly data?: Json }>(value);
        return { kind: "replied", text, data: Json.as<Output>(data), handle };
      }
      if (key !== "timeout" && !key.startsWith("ask-goes-on/")) continue;
      const leftMs: number | null = key === "timeout" ? await this.#giveUp(ask, timeoutMs) : Json.as(value);
      if (leftMs === 0) {
        // The answer may have come before the tree was asked, for example while this run was paused.
        await driver.refresh();
        const isAnswered = waits.peek(`reply/${ask}`) || this.#getOutcome(handle, returns) !== null;
        if (!isAnswered) return this.#closeAsk(ask, { kind: "timedOut", handle });
      }
      at = leftMs === null || leftMs === 0 ? null : driver.time + leftMs;
    }
  }

  /**
   * Asks the tree to end an ask whose timer has fired. Returns the time that is left: time in which the asked run stood
   * still does not count. 0: the ask has ended. Null: the run stands still, and the inbox tells when it goes on.
   */
  async #giveUp(ask: MessageId | null, timeoutMs: number): Promise<number | null> {
    const { driver, runId: run } = this.#deps;
    return ask === null ? 0 : driver.call("abandonAsk", { run, ask, timeoutMs, at: driver.time });
  }

  /** Returns the outcome of an ask that need not wait. Null if it must. */
  #getOutcome<Output>(handle: ChildHandle<Output>, returns: boolean): AskOutcome<Output> | null {
    const { children } = this.#deps;
    const ended = children.getResult<Output>(handle.runId);
    if (ended) return toOutcome(handle, ended);
    if (!returns || !children.isPaused(handle.runId)) return null;
    return { kind: "paused", handle, textSoFar: children.readWords(handle.runId) };
  }

  /** Ends the wait for a reply. */
  async #closeAsk<Output>(ask: MessageId | null, outcome: AskOutcome<Output>): Promise<AskOutcome<Output>> {
    const { driver, runId: run } = this.#deps;
    driver.waits.close(`reply/${ask}`);
    driver.waits.close(`ask-goes-on/${ask}`);
    if (ask && outcome.kind === "paused") await driver.call("abandonAsk", { run, ask, at: driver.time });
    return outcome;
  }

  async askOrThrow<Output>(
    target: AgentSpec<Output> | ChildHandle<Output>,
    input: Input,
    options: AskOptions,
  ): Promise<AskReply<Output>> {
    const outcome = await this.ask(target, input, options);
    if (outcome.kind === "replied") return outcome;
    throw new AskFailedError({ outcome: outcome.kind, run: outcome.handle.runId });
  }

  /** Drops every reply to a message until the returned function gives the final one. */
  deferReply(message: Envelope | null): (output: Json) => Promise<void> {
    this.#deferred = message?.id ?? null;
    return async (output) => {
      this.#deferred = null;
      if (message && output !== null) await this.reply(message, valueText(output), output);
    };
  }

  async reply(message: Envelope, text: string, data?: Json): Promise<void> {
    if (!message.askedBy || message.id === this.#deferred) return;
    const { driver, labels } = this.#deps;
    await driver.reply({ ask: message.id, to: message.askedBy, text, data, labels: labels.told });
  }

  async send(to: RunId | AgentId, input: Input, data?: Json): Promise<void> {
    const { driver } = this.#deps;
    const { parts } = this.#deps.keepInput(input);
    const messageId = MessageId.of(this.#deps.uuid());
    const reply = await driver.call("send", {
      to,
      messageId,
      from: this.#toSender(),
      ...(data !== undefined && { data }),
      ...(parts instanceof Promise ? await parts : parts),
      labels: this.#deps.labels.told,
      at: driver.time,
    });
    if ("error" in reply) throw decodeError(reply.error);
  }

  #toSender(): Sender {
    return { kind: "run", runId: this.#deps.runId, agentId: this.#deps.agentId };
  }
}

function toOutcome<Output>(handle: ChildHandle<Output>, result: RunResult<Output>): AskOutcome<Output> {
  if (result.status === "failed") return { kind: "failed", handle, error: result.error ?? null };
  return { kind: result.status === "cancelled" ? "cancelled" : "endedWithoutReply", handle, result };
}

const senderOf = (from: Sender): string => (from.kind === "run" ? from.runId : `outside/${from.name}`);

/** The messages of a run: one queue for each sender, served in turn. */
export class InboxReader implements Inbox {
  readonly #driver: Driver;
  readonly #journal: Journal;
  readonly #queues = new Map<string, Envelope[]>();
  #steering: Envelope[] = [];
  #followUps: Envelope[] = [];
  #currentMessage: Envelope | null = null;

  constructor(driver: Driver, journal: Journal) {
    this.#driver = driver;
    this.#journal = journal;
  }

  /** The message that agent code works on. If the code gives up now, it is the poison message. */
  get currentMessage(): Envelope | null {
    return this.#currentMessage;
  }

  /** The first unread message: the task that the run was spawned with. */
  get first(): Envelope | null {
    return this.#firstQueue?.[0] ?? null;
  }

  /** Replaces the text of the first message. */
  rewrite(text: string): void {
    const queue = this.#firstQueue;
    const message = queue?.[0];
    if (queue && message) queue[0] = { ...message, text };
  }

  get #firstQueue(): Envelope[] | undefined {
    return this.#queues.values().next().value;
  }

  get unreadCount(): number {
    let count = this.#steering.length + this.#followUps.length;
    for (const queue of this.#queues.values()) count += queue.length;
    return count;
  }

  /** Everything that came and was not read, in its original form. */
  get unread(): readonly InboxItem[] {
    const messages = [...this.#queues.values()].flat();
    return [
      ...messages.map((envelope): InboxItem => ({ kind: "message", envelope })),
      ...this.#steering.map((envelope): InboxItem => ({ kind: "steer", envelope })),
      ...this.#followUps.map((envelope): InboxItem => ({ kind: "followUp", envelope })),
    ];
  }

  receive(kind: "message" | "steer" | "followUp", envelope: Envelope): void {
    if (kind === "steer") this.#steering.push(envelope);
    else if (kind === "followUp") this.#followUps.push(envelope);
    else {
      const sender = senderOf(envelope.from);
      const queue = this.#queues.get(sender);
      if (queue) queue.push(envelope);
      else this.#queues.set(sender, [envelope]);
      this.#driver.waits.tell("message", null);
    }
  }

  next({ waitS = 0 }: { readonly waitS?: number } = {}): Promise<Envelope | null> {
    return ignoreRejection(this.#takeNext(waitS));
  }

  async #takeNext(waitS: number): Promise<Envelope | null> {
    refuseInStep();
    this.#driver.check();
    this.#journal.check();
    checkDuration("waitS", waitS);
    this.#currentMessage = this.#shift();
    if (this.#currentMessage) return this.#currentMessage;
    await this.#driver.refresh();
    this.#currentMessage = this.#shift();
    if (this.#currentMessage || waitS === 0) return this.#currentMessage;
    await this.#driver.waits.first(["message"], { at: this.#driver.time + waitS * 1000 });
    this.#currentMessage = this.#shift();
    return this.#currentMessage;
  }

  takeSteering(): readonly Envelope[] {
    refuseInStep();
    const taken = this.#steering;
    this.#steering = [];
    return taken;
  }

  takeFollowUps({ max = Infinity }: { readonly max?: number } = {}): readonly Envelope[] {
    refuseInStep();
    const taken = this.#followUps.slice(0, max);
    this.#followUps = this.#followUps.slice(max);
    return taken;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Envelope, void> {
    for (;;) {
      const message = await this.next();
      if (!message) return;
      yield message;
    }
  }

  /** Returns the next message of the sender whose turn it is. That sender then moves to the end. */
  #shift(): Envelope | null {
    const [entry] = this.#queues;
    if (!entry) return null;
    const [sender, queue] = entry;
    const message = queue.shift() ?? null;
    this.#queues.delete(sender);
    if (queue.length > 0) this.#queues.set(sender, queue);
    return message;
  }
}
