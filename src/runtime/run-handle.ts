import {
  type ApprovalAnswer,
  ApprovalId,
  type ApprovalRecord,
  decodeError,
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
  type Blocker,
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

/** Amounts to add in each dimension. Absent: unchanged. */
export interface TopUpAmounts {
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  readonly maxTurns?: number;
}

/** Options of a decision. */
type DecisionDetails = Partial<Pick<ApprovalAnswer, "by" | "reason" | "remember" | "hash">>;

/** Options of an operation that the caller may have to repeat because the reply was lost. */
interface OperationOptions {
  /** The same id counts once. Default: a fresh one. */
  readonly id?: string;
}

/** Options of input from outside. */
interface FromOutside extends OperationOptions {
  /** Labels of the content, for example of a mail from a stranger. Default: none. */
  readonly labels?: Partial<Labels>;
}

/** The dependencies of a handle. */
export interface HandleDeps {
  readonly engine: Engine;
  /** Null: events are read from the tree itself. */
  readonly store: Store | null;
  readonly deltas: Deltas;
  readonly clock: Clock;
  readonly now: () => number;
  readonly uuid: () => string;
  /** Aborted when the runtime is closed, with the error for waiting callers. */
  readonly closed: AbortSignal;
  readonly prepareInput: PrepareInput;
}

/** Time without an answer after which a tree may be of another release. */
const treeAnswersMs = 2_000;

/** A shared instance, because it is never shown and creating an error with a stack is slow. */
const notListening = new Error("the subscription was closed");

const never = new AbortController().signal;

/**
 * One run, seen from outside: from the process that started it or any other. `Output`: the type that its agent states.
 */
export class RunHandle<Output = Json> {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly #host: HandleDeps;
  readonly #tree: ObjectAddress;
  /** Null: the execution of the run is unknown, or its engine cannot wait for it. */
  readonly #attached: AttachedResult | null;

  constructor(
    host: HandleDeps,
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
   * Yields the tree's events above number `from`, then each new one, until the tree has ended. Breaking out ends it; a
   * signal ends it even while it waits. @throws the signal's reason; TypeError if this runtime has no store, and the tree has
   * moved events to the store of its workers.
   */
  async *events({
    from = 0,
    signal: given = never,
  }: { readonly from?: number; readonly signal?: AbortSignal } = {}): AsyncGenerator<NumberedEvent, void> {
    const { store } = this.#host;
    const signal = AbortSignal.any([given, this.#host.closed]);
    if (store) {
      const readNext = (after: number): Promise<ReplyOf<"events">> =>
        this.#call("events", { after, limit: 1 });
      return yield* storedEvents({ store, address: this.#tree, readNext }, from, signal);
    }
    for (let after = from; ;) {
      signal.throwIfAborted();
      const wanted = { after, limit: eventsPerRead };
      const { events, closed, more } = await this.#pollUntil("events", wanted, { isGood: isNews, signal });
      if (events.length === 0 ? more : events[0]?.seq !== after + 1)
        throw new TypeError(
          `event ${after + 1} of this tree is in the store only: set createRuntime({ store })`,
        );
      yield* events;
      after = events.at(-1)?.seq ?? after;
      if (closed) return;
    }
  }

  /**
   * Yields the pieces of answers as they come, of every run of the tree, in this process or in a worker that is listed
   * in the store. Open answers start from their beginning. Not durable: for display, never to be acted on. Ends with
   * the run or, if there is a signal, only with the signal.
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
    const result = await this.#pollUntil("result", { run: this.runId }, { isGood: isThere, name });
    if (!result) throw new NotFoundError({ what: "run", id: this.runId });
    return toTyped<Output>(result);
  }

  /** Returns the result without waiting. Null while the run is alive. */
  async resultNow(): Promise<RunResult<Output> | null> {
    const result = await this.#call("result", { run: this.runId });
    return result && toTyped<Output>(result);
  }

  /** Returns the status of the run. @throws NotFoundError if it never existed. */
  async status(): Promise<RunStatus> {
    const status = await this.#call("status", { run: this.runId });
    if (!status) throw new NotFoundError({ what: "run", id: this.runId });
    return status;
  }

  /** Cancels the run and its descendants. Resolves when all have ended. */
  async cancel(reason = "user"): Promise<CancelReceipt> {
    const number = await this.#call("cancel", { run: this.runId, reason, at: this.#host.now() });
    if (number === null) return { reason, runs: [] };
    const receipt = await this.#pollUntil(
      "receipt",
      { number },
      { isGood: isThere, name: cancelDoneKey(number) },
    );
    return receipt ?? { reason, runs: [] };
  }

  /** Holds the run and its descendants, until `resume`. */
  async pause(options: OperationOptions = {}): Promise<void> {
    await this.#call("pause", this.#operation(options));
  }

  async resume(options: OperationOptions = {}): Promise<void> {
    await this.#call("resume", this.#operation(options));
  }

  async reprioritize(priority: Priority, options: OperationOptions = {}): Promise<void> {
    await this.#call("reprioritize", { ...this.#operation(options), priority });
  }

  /** Adds to the run's limits and, for a root, to the tree's. @throws RunEndedError */
  async topUp(
    { maxTokens = 0, maxCostUsd = 0, maxTurns = 0 }: TopUpAmounts,
    options: OperationOptions = {},
  ): Promise<void> {
    const costMicros = Money.cap(Money.checkUsd("maxCostUsd", maxCostUsd));
    const amounts = { tokens: maxTokens, costMicros, turns: maxTurns };
    await this.#call("topUp", { ...this.#operation(options), ...amounts });
  }

  /** Books the real usage of an attempt in doubt. Returns false if there is no such doubt. */
  async reconcile(attempt: AttemptId, usage: Usage): Promise<boolean> {
    return this.#call("reconcile", { attempt, usage, at: this.#host.now() });
  }

  /** Returns the booking of a call in doubt: its ceiling and its price. Null: there is no such doubt. */
  async doubt(attempt: AttemptId): Promise<ReplyOf<"doubt">> {
    return this.#call("doubt", { attempt });
  }

  /**
   * Makes the recorded content of the tree permanent: it is sealed again with a key of the tenant. Returns the number
   * of steps that would have been erased. @throws TypeError without a store.
   */
  async keep(): Promise<number> {
    const { store } = this.#host;
    if (!store) throw new TypeError("steps are recorded in a store: createRuntime({ store })");
    return keepContent(store, treeAt(this.#tree).partition, this.treeId);
  }

  /** Returns the present money and headcount. After the end of a tree only its own account is left. */
  async ledger(): Promise<RunLedger> {
    return readLedger(await this.#call("ledger", { run: this.runId }));
  }

  /** Returns the reason, known only to the engine, why the run cannot continue. Null: none. */
  async blocker(): Promise<Blocker | null> {
    const { engine, clock } = this.#host;
    const asked = this.#call("ledger", { run: this.runId });
    // A tree that another release has written does not answer, so the engine is asked as well.
    const isSilent = await withTimeout({ clock, ms: treeAnswersMs, onTimeout: () => true }, () =>
      asked.then(
        () => false,
        () => false,
      ),
    );
    const blocked = isSilent ? await engine.objectBlocker?.(this.#tree) : null;
    if (blocked) return blocked;
    const execution = executionIn(await asked);
    return execution === null ? null : ((await engine.blocker?.(execution)) ?? null);
  }

  /** Returns every approval of the whole tree, in the order of the requests. */
  async approvals(): Promise<readonly ApprovalRecord[]> {
    return this.#call("approvals", null);
  }

  /** Approves a call. @throws NotFoundError, ApprovalRefusedError */
  async approve(id: string, answer: DecisionDetails = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "approved" });
  }

  /** Denies a call. The model is given the reason. @throws NotFoundError, ApprovalRefusedError */
  async deny(id: string, answer: Omit<DecisionDetails, "remember"> = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "denied" });
  }

  /**
   * Approves a call with other arguments, which are checked like the model's own. @throws NotFoundError,
   * ApprovalRefusedError
   */
  async edit(id: string, input: Json, answer: Omit<DecisionDetails, "remember"> = {}): Promise<void> {
    await this.#decide(id, { by: "user", ...answer, decision: "edited", arguments: input });
  }

  async #decide(id: string, answer: ApprovalAnswer): Promise<void> {
    const decided = { ...answer, approval: ApprovalId.parse(id), operationId: this.#host.uuid() };
    await this.#call("decideApproval", { ...decided, at: this.#host.now() });
  }

  /** Sends a message for the current work. It reaches the agent before its next model call. */
  async steer(input: Input, options: FromOutside = {}): Promise<void> {
    await this.#injectMessage("steer", input, options);
  }

  /** Sends a message for after the current work. It reaches the agent when it would stop. */
  async followUp(input: Input, options: FromOutside = {}): Promise<void> {
    await this.#injectMessage("followUp", input, options);
  }

  /** Resolves a `ctx.waitFor(name)`, now or when the code reaches it. The same `id` counts once. */
  async signal(name: string, data: Json = null, { id, labels }: FromOutside = {}): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    const signal = { run: this.runId, name, data, messageId, ...(labels && { labels: Labels.of(labels) }) };
    await this.#call("signal", { ...signal, at: this.#host.now() });
  }

  /** Sends a message to the run's inbox. The same `id` is delivered once. @throws BacklogFullError */
  async send(
    input: Input,
    options: FromOutside & { readonly data?: Json; readonly from?: string } = {},
  ): Promise<void> {
    const messageId = MessageId.of(options.id ?? this.#host.uuid());
    const from = { kind: "outside", name: options.from ?? "user" } as const;
    const prepared = this.#host.prepareInput(this.#tree.key, input);
    const { parts } = prepared instanceof Promise ? await prepared : prepared;
    const reply = await this.#call("send", {
      to: this.runId,
      messageId,
      from,
      ...(options.data !== undefined && { data: options.data }),
      ...parts,
      ...(options.labels && { labels: Labels.of(options.labels) }),
      at: this.#host.now(),
    });
    if ("error" in reply) throw decodeError(reply.error);
  }

  /** Returns the fields of every operation on the run. A repeated operation under the same id changes nothing. */
  #operation({ id = this.#host.uuid() }: OperationOptions): {
    readonly run: RunId;
    readonly operationId: string;
    readonly at: number;
  } {
    return { run: this.runId, operationId: id, at: this.#host.now() };
  }

  async #injectMessage(kind: "steer" | "followUp", input: Input, { id, labels }: FromOutside): Promise<void> {
    const messageId = MessageId.of(id ?? this.#host.uuid());
    const prepared = this.#host.prepareInput(this.#tree.key, input);
    const { parts } = prepared instanceof Promise ? await prepared : prepared;
    const told = { ...parts, ...(labels && { labels: Labels.of(labels) }) };
    await this.#call("injectMessage", { run: this.runId, kind, ...told, messageId, at: this.#host.now() });
  }

  #call<Method extends TreeMethod>(method: Method, argument: ArgumentOf<Method>): Promise<ReplyOf<Method>> {
    return callTree((name, given) => this.#host.engine.call(this.#tree, name, given), method, argument);
  }

  /** Repeats a query until its answer is accepted. */
  async #pollUntil<Method extends TreeMethod>(
    method: Method,
    argument: ArgumentOf<Method>,
    {
      isGood,
      name,
      signal = never,
    }: {
      readonly isGood: (reply: ReplyOf<Method>) => boolean;
      /** The name of the state that the answer depends on. Default: all of it. */
      readonly name?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<ReplyOf<Method>> {
    for (;;) {
      const stop = new AbortController();
      const listening = signal === never ? stop.signal : AbortSignal.any([signal, stop.signal]);
      // Subscribes before it asks, so that a change in between is not missed.
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

/** Gives a result the type that the agent states. `agent()` validates it before it is recorded. */
const toTyped = <Output>(result: RunResult): RunResult<Output> => Json.as(Json.of(result));

const isThere = (reply: unknown): boolean => reply !== null;
const isNews = ({ events, closed, more }: ReplyOf<"events">): boolean => events.length > 0 || more || closed;
