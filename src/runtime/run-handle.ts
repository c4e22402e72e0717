import {
  type ApprovalAnswer,
  ApprovalId,
  type ApprovalRecord,
  Labels,
  MessageId,
  Money,
  NotFoundError,
  type AttemptId,
  type CancelReceipt,
  type Engine,
  type Json,
  type NumberedEvent,
  type ObjectAddress,
  type Obstacle,
  type Priority,
  RunId,
  type RunResult,
  type RunStatus,
  type Store,
  type TreeId,
  type Usage,
} from "#kernel";
import type { Deltas } from "./deltas/deltas.ts";
import type { RunDelta } from "./deltas/run-delta.ts";
import { executionIn, readLedger, type RunLedger } from "./run-ledger.ts";
import { storedEvents } from "./stored-events.ts";
import { cancelKey, closedKey, endedKey } from "./tree/records.ts";
import { callTree } from "./tree/tree-object.ts";
import type { ArgumentOf, ReplyOf, TreeMethod } from "./tree/protocol.ts";

const eventsPerRead = 256;

/** More of each dimension. An absent one stays as it is. */
export interface TopUpAmounts {
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  readonly maxTurns?: number;
}

/** What goes with a decision. */
type Said = Partial<Pick<ApprovalAnswer, "by" | "reason" | "remember" | "hash">>;

/** For whoever may have to say it again because the answer was lost. */
interface Once {
  /** The same id counts once. Default: a fresh one. */
  readonly id?: string;
}

/** What goes with something from outside. */
interface FromOutside extends Once {
  /** What it is: for example a mail from a stranger. Default: nothing untrusted, nothing private. */
  readonly labels?: Partial<Labels>;
}

/** What a handle stands on. */
export interface HandleHost {
  readonly engine: Engine;
  /** Null: events are read from the tree itself. */
  readonly store: Store | null;
  readonly deltas: Deltas;
  readonly now: () => number;
  readonly uuid: () => string;
}

/** Nobody sees it: made once, because an error with its stack is not cheap. */
const notListening = new Error("not listening any more");

const never = new AbortController().signal;

/** One run, from outside: from the process that started it or from any other. */
export class RunHandle {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly #host: HandleHost;
  readonly #tree: ObjectAddress;

  constructor(
    host: HandleHost,
    tree: ObjectAddress,
    ids: { readonly treeId: TreeId; readonly runId: RunId },
  ) {
    this.#host = host;
    this.#tree = tree;
    this.treeId = ids.treeId;
    this.runId = ids.runId;
  }

  /**
   * The tree's events above number `from`, then each new one, until the tree is over. Breaking out ends it; a signal
   * ends it also while it waits. @throws the signal's reason.
   */
  async *events({
    from = 0,
    signal = never,
  }: { readonly from?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<NumberedEvent, void> {
    const { store } = this.#host;
    if (store) {
      const next = (after: number): Promise<ReplyOf<"events">> => this.#call("events", { after, limit: 1 });
      return yield* storedEvents({ store, address: this.#tree, next }, from, signal);
    }
    for (let after = from; ;) {
      signal.throwIfAborted();
      const wanted = { after, limit: eventsPerRead };
      const { events, closed } = await this.#until("events", wanted, isNews, { signal });
      yield* events;
      after = events.at(-1)?.seq ?? after;
      if (closed) return;
    }
  }

  /**
   * The pieces of answers as they come, from every run of the tree, here or in a worker that is listed in the store.
   * Answers that are open come from their beginning. Not durable: for people who watch, never to be acted on. Ends
   * with the run or, if there is a signal, with that alone: whoever has one knows when to stop.
   *
   * @throws DeltasCutError, the signal's reason
   */
  deltas({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<RunDelta, void> {
    return this.#host.deltas.watch(this.#tree.key, () => (signal ? aborted(signal) : this.result()));
  }

  /** What the run left behind, once it has ended; a root's once its whole tree has. */
  async result(): Promise<RunResult> {
    const name = this.runId === RunId.root(this.treeId) ? closedKey : endedKey(this.runId);
    await this.#host.engine.written(this.#tree, name);
    const result = await this.#until("result", { run: this.runId }, isThere, { name });
    if (!result) throw new NotFoundError({ what: "run", id: this.runId });
    return result;
  }

  /** The same, without waiting: null while it lives. */
  async outcome(): Promise<RunResult | null> {
    return this.#call("result", { run: this.runId });
  }

  /** @throws NotFoundError if there never was such a run. */
  async status(): Promise<RunStatus> {
    const status = await this.#call("status", { run: this.runId });
    if (!status) throw new NotFoundError({ what: "run", id: this.runId });
    return status;
  }

  /** Stops the run and everything below it; resolves when all have ended. */
  async cancel(reason = "user"): Promise<CancelReceipt> {
    const number = await this.#call("cancel", { run: this.runId, reason, at: this.#host.now() });
    if (number === null) return { reason, runs: [] };
    const receipt = await this.#until("receipt", { number }, isThere, { name: cancelKey(number) });
    return receipt ?? { reason, runs: [] };
  }

  /** Holds the run and everything below it, until `resume`. */
  async pause(): Promise<void> {
    await this.#call("pause", { run: this.runId, at: this.#host.now() });
  }

  async resume(): Promise<void> {
    await this.#call("resume", { run: this.runId, at: this.#host.now() });
  }

  async reprioritize(priority: Priority): Promise<void> {
    await this.#call("reprioritize", { run: this.runId, priority, at: this.#host.now() });
  }

  /** Adds to the run's limits and, for a root, to the tree's. @throws RunEndedError */
  async topUp(
    { maxTokens = 0, maxCostUsd = 0, maxTurns = 0 }: TopUpAmounts,
    { id = this.#host.uuid() }: Once = {},
  ): Promise<void> {
    const amounts = { tokens: maxTokens, cost: Money.cap(maxCostUsd), turns: maxTurns };
    await this.#call("topUp", {
      run: this.runId,
      ...amounts,
      operationId: id,
      at: this.#host.now(),
    });
  }

  /** Tells what an attempt in doubt really used. False if there is no such doubt. */
  async reconcile(attempt: AttemptId, usage: Usage): Promise<boolean> {
    return this.#call("reconcile", { attempt, usage, at: this.#host.now() });
  }

  /** Money and headcount as they are now. After the end of a tree only its own account is left. */
  async ledger(): Promise<RunLedger> {
    return readLedger(await this.#call("ledger", { run: this.runId }));
  }

  /** What keeps it from going on that its tree does not know of: its engine does. Null: nothing. */
  async obstacle(): Promise<Obstacle | null> {
    const execution = executionIn(await this.#call("ledger", { run: this.runId }));
    return execution === null ? null : ((await this.#host.engine.obstacle?.(execution)) ?? null);
  }

  /** Every question to people of the whole tree, in the order they were asked. */
  async approvals(): Promise<readonly ApprovalRecord[]> {
    return this.#call("approvals", null);
  }

  /** Lets a call be made that waits for somebody's word. @throws NotFoundError, ApprovalRefusedError */
  async approve(id: string, answer: Said = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "approved" });
  }

  /** Refuses it: the model is told so. @throws NotFoundError, ApprovalRefusedError */
  async deny(id: string, answer: Omit<Said, "remember"> = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "denied" });
  }

  /** Has it made with other arguments, which are checked like the model's own. @throws NotFoundError, ApprovalRefusedError */
  async edit(id: string, input: Json, answer: Omit<Said, "remember"> = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "edited", arguments: input });
  }

  async #decide(id: string, answer: ApprovalAnswer): Promise<void> {
    const decided = { ...answer, approval: ApprovalId.parse(id), operationId: this.#host.uuid() };
    await this.#call("decideApproval", { ...decided, at: this.#host.now() });
  }

  /** Words for the work in hand: they reach the agent before its next model call. */
  async steer(text: string, options: Once = {}): Promise<void> {
    await this.#nudge("steer", text, options);
  }

  /** Words for after it: they reach the agent when it would stop. */
  async followUp(text: string, options: Once = {}): Promise<void> {
    await this.#nudge("followUp", text, options);
  }

  /** Wakes a `ctx.waitFor(name)`, now or when it comes to it. The same `id` counts once. */
  async signal(name: string, data: Json = null, { id, labels }: FromOutside = {}): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    const signal = { run: this.runId, name, data, messageId, ...(labels && { labels: Labels.of(labels) }) };
    await this.#call("signal", { ...signal, at: this.#host.now() });
  }

  /** A message to the run's inbox. The same `id` is delivered once. */
  async send(
    text: string,
    options: FromOutside & { readonly data?: Json; readonly from?: string } = {},
  ): Promise<void> {
    const messageId = MessageId.of(options.id ?? this.#host.uuid());
    const from = { kind: "outside", name: options.from ?? "user" } as const;
    await this.#call("send", {
      to: this.runId,
      messageId,
      from,
      text,
      data: options.data,
      ...(options.labels && { labels: Labels.of(options.labels) }),
      at: this.#host.now(),
    });
  }

  async #nudge(kind: "steer" | "followUp", text: string, { id }: Once): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    await this.#call("nudge", { run: this.runId, kind, text, messageId, at: this.#host.now() });
  }

  #call<Method extends TreeMethod>(method: Method, argument: ArgumentOf<Method>): Promise<ReplyOf<Method>> {
    return callTree((name, given) => this.#host.engine.call(this.#tree, name, given), method, argument);
  }

  /** Asks until the answer is good. */
  async #until<Method extends TreeMethod>(
    method: Method,
    argument: ArgumentOf<Method>,
    isGood: (reply: ReplyOf<Method>) => boolean,
    /** `name`: what the answer depends on. Default: on everything. */
    { name, signal = never }: { readonly name?: string; readonly signal?: AbortSignal } = {},
  ): Promise<ReplyOf<Method>> {
    for (;;) {
      const stop = new AbortController();
      const listening = signal === never ? stop.signal : AbortSignal.any([signal, stop.signal]);
      // Listens before it asks: a change in between is not missed.
      const changed = this.#host.engine.changed(this.#tree, listening, name);
      changed.catch(() => undefined);
      try {
        const reply = await this.#call(method, argument);
        if (isGood(reply)) return reply;
        await changed;
      } finally {
        stop.abort(notListening);
      }
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

const isThere = (reply: unknown): boolean => reply !== null;
const isNews = ({ events, closed }: ReplyOf<"events">): boolean => events.length > 0 || closed;
