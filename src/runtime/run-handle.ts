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
  type Clock,
  type Engine,
  type Input,
  Json,
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
import { rejectOnAbort, withTimeout } from "#base";
import type { Deltas, RunDelta } from "#deltas";
import { AttachedResult } from "./attached-result.ts";
import { keepContent } from "./keep-content.ts";
import { executionIn, readLedger, type RunLedger } from "./run-ledger.ts";
import type { PrepareInput } from "./prepare-input.ts";
import { storedEvents } from "./stored-events.ts";
import {
  cancelDoneKey,
  closedKey,
  endedKey,
  callTree,
  treeAt,
  type ArgumentOf,
  type ReplyOf,
  type TreeMethod,
} from "#tree";

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
  readonly clock: Clock;
  readonly now: () => number;
  readonly uuid: () => string;
  /** Aborted when the runtime is closed, with the error for those who wait. */
  readonly closed: AbortSignal;
  readonly prepareInput: PrepareInput;
}

/** A tree that has not answered for so long may be of another release. */
const treeAnswersMs = 2_000;

/** Nobody sees it: made once, because an error with its stack is not cheap. */
const notListening = new Error("not listening any more");

const never = new AbortController().signal;

/** One run, from outside: from the process that started it or from any other. `Output`: what its agent states. */
export class RunHandle<Output = Json> {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly #host: HandleHost;
  readonly #tree: ObjectAddress;
  /** Null: the execution of the run is not known, or its engine cannot wait for it. */
  readonly #attached: AttachedResult | null;

  constructor(
    host: HandleHost,
    tree: ObjectAddress,
    ids: { readonly treeId: TreeId; readonly runId: RunId; readonly execution: string | null },
  ) {
    this.#host = host;
    this.#tree = tree;
    this.treeId = ids.treeId;
    this.runId = ids.runId;
    const ask = (): Promise<RunResult | null> => this.#call("result", { run: this.runId });
    const canAttach = ids.execution !== null && host.engine.attach !== undefined;
    this.#attached = canAttach ? new AttachedResult({ ...host, ask }, tree, ids.execution) : null;
  }

  /**
   * The tree's events above number `from`, then each new one, until the tree is over. Breaking out ends it; a signal
   * ends it also while it waits. @throws the signal's reason.
   */
  async *events({
    from = 0,
    signal: given = never,
  }: { readonly from?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<NumberedEvent, void> {
    const { store } = this.#host;
    const signal = AbortSignal.any([given, this.#host.closed]);
    if (store) {
      const next = (after: number): Promise<ReplyOf<"events">> => this.#call("events", { after, limit: 1 });
      return yield* storedEvents({ store, address: this.#tree, next }, from, signal);
    }
    for (let after = from; ;) {
      signal.throwIfAborted();
      const wanted = { after, limit: eventsPerRead };
      const { events, closed } = await this.#until("events", wanted, { isGood: isNews, signal });
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
    return this.#host.deltas.watch(this.#tree.key, () =>
      signal ? rejectOnAbort(new Promise(() => undefined), signal) : this.result(),
    );
  }

  /**
   * Waits for the result of the run; of a root, for the end of its whole tree.
   *
   * @throws NotFoundError if there is no such run; RuntimeClosedError if the runtime is closed before
   */
  async result(): Promise<RunResult<Output>> {
    const attached = await this.#attached?.wait();
    if (attached) return toTyped<Output>(attached);
    const name = this.runId === RunId.root(this.treeId) ? closedKey : endedKey(this.runId);
    const result = await this.#until("result", { run: this.runId }, { isGood: isThere, name });
    if (!result) throw new NotFoundError({ what: "run", id: this.runId });
    return toTyped<Output>(result);
  }

  /** The same, without waiting: null while it lives. */
  async outcome(): Promise<RunResult<Output> | null> {
    const result = await this.#call("result", { run: this.runId });
    return result && toTyped<Output>(result);
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
    const receipt = await this.#until(
      "receipt",
      { number },
      { isGood: isThere, name: cancelDoneKey(number) },
    );
    return receipt ?? { reason, runs: [] };
  }

  /** Holds the run and everything below it, until `resume`. */
  async pause(options: Once = {}): Promise<void> {
    await this.#call("pause", this.#operation(options));
  }

  async resume(options: Once = {}): Promise<void> {
    await this.#call("resume", this.#operation(options));
  }

  async reprioritize(priority: Priority, options: Once = {}): Promise<void> {
    await this.#call("reprioritize", { ...this.#operation(options), priority });
  }

  /** Adds to the run's limits and, for a root, to the tree's. @throws RunEndedError */
  async topUp(
    { maxTokens = 0, maxCostUsd = 0, maxTurns = 0 }: TopUpAmounts,
    options: Once = {},
  ): Promise<void> {
    const amounts = { tokens: maxTokens, costMicros: Money.cap(maxCostUsd), turns: maxTurns };
    await this.#call("topUp", { ...this.#operation(options), ...amounts });
  }

  /** Tells what an attempt in doubt really used. False if there is no such doubt. */
  async reconcile(attempt: AttemptId, usage: Usage): Promise<boolean> {
    return this.#call("reconcile", { attempt, usage, at: this.#host.now() });
  }

  /** The booking of a call of the tree that is in doubt: its ceiling and its price. Null: there is no such doubt. */
  async doubt(attempt: AttemptId): Promise<ReplyOf<"doubt">> {
    return this.#call("doubt", { attempt });
  }

  /**
   * Makes the recorded content of the tree last, as far as it was recorded: it is sealed again with a key of the tenant.
   * Returns the number of steps that would have been erased. @throws TypeError without a store.
   */
  async keep(): Promise<number> {
    const { store } = this.#host;
    if (!store) throw new TypeError("steps are recorded in a store: createRuntime({ store })");
    return keepContent(store, treeAt(this.#tree).partition, this.treeId);
  }

  /** Money and headcount as they are now. After the end of a tree only its own account is left. */
  async ledger(): Promise<RunLedger> {
    return readLedger(await this.#call("ledger", { run: this.runId }));
  }

  /** What keeps it from going on that its tree does not know of: its engine does. Null: nothing. */
  async obstacle(): Promise<Obstacle | null> {
    const { engine, clock } = this.#host;
    const asked = this.#call("ledger", { run: this.runId });
    // A tree that another release has written does not answer: its engine is asked beside it.
    const isSilent = await withTimeout({ clock, ms: treeAnswersMs, onTimeout: () => true }, () =>
      asked.then(
        () => false,
        () => false,
      ),
    );
    const blocked = isSilent ? await engine.objectObstacle?.(this.#tree) : null;
    if (blocked) return blocked;
    const execution = executionIn(await asked);
    return execution === null ? null : ((await engine.obstacle?.(execution)) ?? null);
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
  async steer(input: Input, options: FromOutside = {}): Promise<void> {
    await this.#nudge("steer", input, options);
  }

  /** Words for after it: they reach the agent when it would stop. */
  async followUp(input: Input, options: FromOutside = {}): Promise<void> {
    await this.#nudge("followUp", input, options);
  }

  /** Wakes a `ctx.waitFor(name)`, now or when it comes to it. The same `id` counts once. */
  async signal(name: string, data: Json = null, { id, labels }: FromOutside = {}): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    const signal = { run: this.runId, name, data, messageId, ...(labels && { labels: Labels.of(labels) }) };
    await this.#call("signal", { ...signal, at: this.#host.now() });
  }

  /** A message to the run's inbox. The same `id` is delivered once. */
  async send(
    input: Input,
    options: FromOutside & { readonly data?: Json; readonly from?: string } = {},
  ): Promise<void> {
    const messageId = MessageId.of(options.id ?? this.#host.uuid());
    const from = { kind: "outside", name: options.from ?? "user" } as const;
    const prepared = this.#host.prepareInput(this.#tree.key, input);
    const { parts } = prepared instanceof Promise ? await prepared : prepared;
    await this.#call("send", {
      to: this.runId,
      messageId,
      from,
      ...(options.data !== undefined && { data: options.data }),
      ...parts,
      ...(options.labels && { labels: Labels.of(options.labels) }),
      at: this.#host.now(),
    });
  }

  /** Returns the fields of every operation on the run. Repeated under the same id, it changes nothing. */
  #operation({ id = this.#host.uuid() }: Once): {
    readonly run: RunId;
    readonly operationId: string;
    readonly at: number;
  } {
    return { run: this.runId, operationId: id, at: this.#host.now() };
  }

  async #nudge(kind: "steer" | "followUp", input: Input, { id, labels }: FromOutside): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    const prepared = this.#host.prepareInput(this.#tree.key, input);
    const { parts } = prepared instanceof Promise ? await prepared : prepared;
    const told = { ...parts, ...(labels && { labels: Labels.of(labels) }) };
    await this.#call("nudge", { run: this.runId, kind, ...told, messageId, at: this.#host.now() });
  }

  #call<Method extends TreeMethod>(method: Method, argument: ArgumentOf<Method>): Promise<ReplyOf<Method>> {
    return callTree((name, given) => this.#host.engine.call(this.#tree, name, given), method, argument);
  }

  /** Asks until the answer is good. */
  async #until<Method extends TreeMethod>(
    method: Method,
    argument: ArgumentOf<Method>,
    {
      isGood,
      name,
      signal = never,
    }: {
      readonly isGood: (reply: ReplyOf<Method>) => boolean;
      /** State that the answer depends on. Default: all of it. */
      readonly name?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<ReplyOf<Method>> {
    for (;;) {
      const stop = new AbortController();
      const listening = signal === never ? stop.signal : AbortSignal.any([signal, stop.signal]);
      // Listens before it asks: a change in between is not missed.
      const changed = this.#host.engine.waitForChange(this.#tree, { signal: listening, name });
      changed.catch(() => undefined);
      try {
        const reply = await this.#call(method, argument);
        if (isGood(reply)) return reply;
        await rejectOnAbort(changed, this.#host.closed);
      } catch (error) {
        this.#host.closed.throwIfAborted();
        throw error;
      } finally {
        stop.abort(notListening);
      }
    }
  }
}

/** Gives a result the type that the agent states: `agent()` validates it before it is recorded. */
const toTyped = <Output>(result: RunResult): RunResult<Output> => Json.as(Json.of(result));

const isThere = (reply: unknown): boolean => reply !== null;
const isNews = ({ events, closed }: ReplyOf<"events">): boolean => events.length > 0 || closed;
