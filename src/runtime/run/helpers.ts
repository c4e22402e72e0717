import {
  AskFailedError,
  BudgetExhaustedError,
  CancellationError,
  decodeError,
  ExecutionBudget,
  Json,
  MessageId,
  type AgentId,
  type AskOptions,
  type AskOutcome,
  type ChildHandle,
  type Envelope,
  type Hireable,
  type JoinOutcome,
  type RunId,
  type RunResult,
  type Sender,
  type SpawnOptions,
} from "#kernel";
import type { Driver } from "../driver/driver.ts";
import type { InboxItem } from "../tree/records.ts";
import type { Observer } from "./observer.ts";
import type { RunLabels } from "./run-labels.ts";

/** What a run needs to deal with other runs. */
export interface HelpersHost {
  readonly driver: Driver;
  readonly runId: RunId;
  readonly agentId: AgentId;
  readonly uuid: () => string;
  readonly observer: Observer;
  /** What the run has seen: it goes with whatever the run says. */
  readonly labels: RunLabels;
  /** @throws NotFoundError unless the agent can be hired here. */
  readonly know: (agent: Hireable) => void;
}

/** A run's dealings with other runs: hiring, waiting, asking, sending. */
export class Helpers {
  readonly #host: HelpersHost;
  readonly #hired = new Set<RunId>();
  /** The tasks of those that were hired and not asked yet. */
  readonly #tasks = new Map<RunId, string>();
  readonly #ended = new Map<RunId, RunResult>();
  readonly #paused = new Set<RunId>();
  #withheld: MessageId | null = null;

  constructor(host: HelpersHost) {
    this.#host = host;
  }

  /** Takes in what happened to other runs. */
  receive(item: Extract<InboxItem, { kind: "ended" | "childPaused" | "childResumed" }>): void {
    const { waits } = this.#host.driver;
    if (item.kind === "ended") {
      this.#ended.set(item.run, item.result);
      waits.tell(`ended/${item.run}`, null);
    } else if (item.kind === "childPaused") {
      this.#paused.add(item.run);
      waits.tell(`paused/${item.run}`, null);
    } else {
      this.#paused.delete(item.run);
    }
  }

  hire(
    agent: Hireable,
    text: string | null,
    options: SpawnOptions & { readonly asks?: boolean; readonly tools?: readonly string[] },
  ): Promise<ChildHandle> {
    this.#host.know(agent);
    ExecutionBudget.of(options.budget);
    return this.#hire(agent, text, options);
  }

  async #hire(
    agent: Hireable,
    text: string | null,
    options: SpawnOptions & { readonly asks?: boolean; readonly tools?: readonly string[] },
  ): Promise<ChildHandle> {
    const { driver } = this.#host;
    const messageId = MessageId.of(this.#host.uuid());
    const reply = await driver.report("hire", {
      agentId: agent.id,
      text,
      messageId,
      asks: options.asks ?? false,
      priority: options.priority ?? null,
      budget: options.budget ?? null,
      retention: options.retention ?? null,
      onFull: options.onFull ?? "deny",
      detached: options.detached ?? false,
      tools: options.tools ?? null,
      rules: options.permissions ?? [],
      labels: this.#host.labels.told,
    });
    const { observer } = this.#host;
    if ("error" in reply) {
      const error = decodeError(reply.error);
      if (error instanceof CancellationError) driver.stopped(error.reason);
      if (error instanceof BudgetExhaustedError)
        observer.seenLive(
          "spawn.denied",
          { childAgent: agent.id, reason: error.reason ?? "full" },
          `denied/${messageId}`,
        );
      throw error;
    }
    const hired = { child: reply.run, childAgent: agent.id };
    const place = `hired/${reply.run}`;
    if (reply.queued) observer.seenLive("spawn.queued", { ...hired, victim: reply.queued.victim }, place);
    else observer.seenLive("spawn.admitted", { ...hired, priority: reply.priority }, place);
    this.#hired.add(reply.run);
    if (text !== null && !options.asks) this.#tasks.set(reply.run, text);
    return { runId: reply.run, agentId: agent.id, boot: text === null ? null : messageId };
  }

  async join(handle: ChildHandle, onPause: "wait" | "return"): Promise<JoinOutcome> {
    const { runId } = handle;
    if (!this.#ended.has(runId)) await this.#watch(runId);
    const known = this.#ended.get(runId);
    if (known) return known;
    if (onPause === "return" && this.#paused.has(runId)) return { status: "paused", handle };
    const keys = [`ended/${runId}`, ...(onPause === "return" ? [`paused/${runId}`] : [])];
    const arrival = await this.#host.driver.waits.first(keys, { on: runId });
    return arrival.key.startsWith("paused/") ? { status: "paused", handle } : this.#resultOf(runId);
  }

  #resultOf(run: RunId): RunResult {
    const result = this.#ended.get(run);
    if (!result) throw new Error(`run ${run} ended without a result`);
    return result;
  }

  /** A run this execution did not hire tells nothing by itself: the tree is asked. */
  async #watch(target: RunId): Promise<void> {
    if (this.#hired.has(target)) return;
    const { driver, runId } = this.#host;
    const result = await driver.call("watch", { run: runId, target, at: driver.time });
    if (result) {
      this.#host.labels.join(result.labels);
      this.#ended.set(target, result);
    }
    this.#hired.add(target);
  }

  async ask(target: Hireable | ChildHandle, text: string, options: AskOptions): Promise<AskOutcome> {
    if (!(options.timeoutS >= 0)) throw new RangeError(`timeoutS: ${options.timeoutS}`);
    if (!("runId" in target)) {
      const handle = await this.hire(target, text, { ...options, asks: true });
      return this.#awaitReply(handle, handle.boot, options);
    }
    const isTask = this.#tasks.get(target.runId) === text;
    this.#tasks.delete(target.runId);
    // The task it was hired with is with it already: the same message again is the same delivery.
    const messageId = (isTask ? target.boot : null) ?? MessageId.of(this.#host.uuid());
    const { driver, runId } = this.#host;
    const reply = await driver.call("send", {
      to: target.runId,
      messageId,
      from: this.#sender(),
      text,
      askedBy: runId,
      labels: this.#host.labels.told,
      at: driver.time,
    });
    if ("error" in reply) throw decodeError(reply.error);
    if ("deadLetter" in reply) {
      return { kind: "failed", handle: target, error: { code: "dead-letter", message: reply.deadLetter } };
    }
    this.#hired.add(reply.to);
    return this.#awaitReply({ ...target, runId: reply.to }, messageId, options);
  }

  async #awaitReply(handle: ChildHandle, ask: MessageId | null, options: AskOptions): Promise<AskOutcome> {
    const { waits, time } = this.#host.driver;
    const { runId } = handle;
    const returns = options.onPause === "return";
    const known = waits.peek(`reply/${ask}`) ? null : this.#standing(handle, returns);
    if (known) return this.#closeAsk(ask, known);
    const keys = [`reply/${ask}`, `ended/${runId}`, ...(returns ? [`paused/${runId}`] : [])];
    const { key, value } = await waits.first(keys, { at: time + options.timeoutS * 1000, on: runId });
    if (key.startsWith("reply/")) {
      const { text, data } = Json.as<{ readonly text: string; readonly data?: Json }>(value);
      return { kind: "replied", text, data, handle };
    }
    if (key === "timeout") return this.#closeAsk(ask, { kind: "timedOut", handle });
    return this.#closeAsk(
      ask,
      key.startsWith("paused/") ? { kind: "paused", handle } : endOf(handle, this.#resultOf(runId)),
    );
  }

  /** What is known of a run before anybody waits for it. */
  #standing(handle: ChildHandle, returns: boolean): AskOutcome | null {
    const ended = this.#ended.get(handle.runId);
    if (ended) return endOf(handle, ended);
    return returns && this.#paused.has(handle.runId) ? { kind: "paused", handle } : null;
  }

  /** Nobody waits for this reply any more. */
  async #closeAsk(ask: MessageId | null, outcome: AskOutcome): Promise<AskOutcome> {
    const { driver } = this.#host;
    driver.waits.close(`reply/${ask}`);
    const isOpen = outcome.kind === "timedOut" || outcome.kind === "paused";
    if (ask && isOpen) await driver.call("unask", { ask, at: driver.time });
    return outcome;
  }

  async askOrThrow(
    target: Hireable | ChildHandle,
    text: string,
    options: AskOptions,
  ): Promise<Extract<AskOutcome, { readonly kind: "replied" }>> {
    const outcome = await this.ask(target, text, options);
    if (outcome.kind === "replied") return outcome;
    throw new AskFailedError({ outcome: outcome.kind, run: outcome.handle.runId });
  }

  /** Keeps back whatever is replied to a message. Returns the way to answer it after all. */
  withhold(message: Envelope | null): (output: Json) => Promise<void> {
    this.#withheld = message?.id ?? null;
    return async (output) => {
      this.#withheld = null;
      const text = typeof output === "string" ? output : JSON.stringify(output);
      if (message && output !== null) await this.reply(message, text, output);
    };
  }

  async reply(message: Envelope, text: string, data?: Json): Promise<void> {
    if (!message.askedBy || message.id === this.#withheld) return;
    const { driver, labels } = this.#host;
    await driver.reply({ ask: message.id, to: message.askedBy, text, data, labels: labels.told });
  }

  async send(to: RunId | AgentId, text: string, data?: Json): Promise<void> {
    const { driver } = this.#host;
    const messageId = MessageId.of(this.#host.uuid());
    const reply = await driver.call("send", {
      to,
      messageId,
      from: this.#sender(),
      text,
      data,
      labels: this.#host.labels.told,
      at: driver.time,
    });
    if ("error" in reply) throw decodeError(reply.error);
  }

  #sender(): Sender {
    return { kind: "run", runId: this.#host.runId, agentId: this.#host.agentId };
  }
}

function endOf(handle: ChildHandle, result: RunResult): AskOutcome {
  if (result.status === "failed") return { kind: "failed", handle, error: result.error ?? null };
  return { kind: result.status === "cancelled" ? "cancelled" : "endedWithoutReply", handle, result };
}
