// The driver of one execution of a run: lets plain async code run over a journal.
//
// Job: give agent code native promises for its effects and waits, and be the only code that awaits the engine. Each
// turn races all open operations, settles exactly the one that finished, lets the code run as far as it can, and
// races again. Neighbours above: the steps and the context, which only request effects and waits. Below: the engine's
// primitives. Same level: Effects (operations), Waits (keys), Intake (the order of the inbox), TreeCalls and Outbox
// (the tree).
//
// Invariants:
// 1. One thing happens per turn: one operation is settled, or one inbox item is delivered. So a replay issues the same
//    operations in the same order.
// 2. Nothing begins while the run has no slot, is cancelled, or may be past its deadline and has not asked the tree.
// 3. Time only grows. It comes from the journal and the tree, never from the worker's clock between two operations.
// 4. Inbox items are delivered in the order of the inbox, each once, and before the call that brought them resolves.
// 5. After a cancel, every open effect is notified once and has a second to end. Waits fail, and further calls are
//    refused.
// 6. Code that awaits a promise of another origin cannot be replayed: if nothing is open and no wait is registered,
//    the run fails.
import {
  CancellationError,
  Json,
  PreemptedError,
  UnjournaledAwaitError,
  type NumberedEvent,
  type Operation,
  type ExecutionPrimitives,
  type StepIo,
} from "#kernel";
import type { OwnedToken } from "#base";
import type { ArgumentOf, FromRun, InboxBatch, ReplyOf, RunMethod, TreeMethod, InboxItem } from "#tree";
import { ArmedTimers } from "./armed-timers.ts";
import { checkData } from "./check-data.ts";
import { Deadline } from "./deadline.ts";
import { Effects } from "./effects.ts";
import { Intake } from "./intake.ts";
import { RacedOperations } from "./raced-operations.ts";
import { Refusals } from "./refusals.ts";
import { Rest } from "./rest.ts";
import type { Outbox } from "./outbox.ts";
import { StepNames } from "./step-names.ts";
import { TreeCalls, type InboxState } from "./tree-calls.ts";
import { Waits } from "./waits.ts";

/** Time for an effect to react to the cancel of its run. */
const graceMs = 1_000;

/** The end of agent code. */
export type RunEnding<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown };

/** Runs plain async code over a journal. */
export class Driver {
  readonly tree: TreeCalls;
  /** The reports for the tree. */
  readonly outbox: Outbox;
  readonly waits = new Waits();
  readonly steps: StepNames;
  readonly #primitives: ExecutionPrimitives;
  readonly #token: OwnedToken;
  readonly #onItem: (item: InboxItem) => void;
  readonly #effects = new Effects();
  /** Deliveries to the code, one at a time: inbox items, and calls that waited for them. */
  readonly #deliveries: (InboxItem | (() => void))[] = [];
  readonly #intake: Intake;
  readonly #raced: RacedOperations;
  readonly #timers: ArmedTimers;
  readonly #deadline: Deadline;
  #grace: number | null = null;
  readonly #rest = new Rest();
  /** Whether nothing has happened since the inbox was last taken. If so, one take can be skipped. */
  #isFresh = false;
  #fatal: Error | null = null;
  #isOver = false;
  readonly #refusals = new Refusals();
  #time: number;

  constructor(options: {
    readonly primitives: ExecutionPrimitives;
    readonly token: OwnedToken;
    readonly deadline: number | null;
    readonly batch: InboxBatch;
    /** Takes items that the driver does not handle itself: everything but pauses and cancels. */
    readonly onItem: (item: InboxItem) => void;
    /** Returns what the code has not read. */
    readonly backlog: InboxState["backlog"];
    /** Takes the run's events from the tree: each at most once, and never on replay. */
    readonly onEvents: (events: readonly NumberedEvent[]) => void;
  }) {
    this.#primitives = options.primitives;
    const known = { cursor: () => this.#intake.cursor, backlog: options.backlog };
    this.tree = new TreeCalls(options.primitives, options.onEvents, known);
    this.outbox = this.tree.outbox;
    this.steps = new StepNames(options.primitives);
    this.#timers = new ArmedTimers(options.primitives);
    this.#token = options.token;
    this.#deadline = new Deadline(options.deadline);
    this.#onItem = options.onItem;
    this.#intake = new Intake(options.batch);
    this.#time = options.batch.at;
    this.#raced = new RacedOperations(this.#effects, options.primitives.waitForCancel());
    this.#token.onCancel(() => this.#stop());
    this.#ingest(options.batch);
  }

  /** The latest time that this run knows: the same on every replay. */
  get time(): number {
    return this.#time;
  }

  /** Takes the tree's time. A passed deadline cancels the run before anything else happens. */
  #learnTime(at: number): void {
    this.#time = Math.max(this.#time, at);
    if (this.#deadline.isOver(at)) this.#token.cancel("deadline");
  }

  /**
   * Takes a worker's time, which may be wrong. If the deadline may have passed, the tree is asked before anything
   * begins.
   */
  learnWorkerTime(at: number): void {
    this.#time = Math.max(this.#time, at);
    this.#deadline.noticeWorkerTime(at);
  }

  /** Items that were taken from the inbox and not delivered to the code. */
  get undelivered(): readonly InboxItem[] {
    return this.#deliveries.filter((news) => typeof news !== "function");
  }

  /**
   * Checks for cancellation and deadline. Code that catches too many of these errors is abandoned at its next `await`.
   * Then nothing is thrown here any more: a loop without `await` would never reach one. @throws CancellationError
   */
  check(): void {
    if (this.#token.cancelled && this.#countRefusal()) throw this.#cancellation();
  }

  /** Handles the tree's refusal to let anything more begin. @throws CancellationError */
  acceptStop(reason: string): never {
    this.#token.cancel(reason);
    throw this.#cancellation();
  }

  /** Runs a closure as one journaled step, now or when there is room. */
  step(name: string, run: (io: StepIo) => Promise<Json>): Promise<Json> {
    return this.#start(() => this.#primitives.step(name, run));
  }

  /** Calls the tree, with all unsent reports. */
  async report<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): Promise<ReplyOf<Method>> {
    checkData(method, argument);
    const call = this.tree.prepareReporting(method, argument);
    await this.#start(() => call.issue(this.#time));
    return call.finish();
  }

  /** Calls the tree. */
  async call<Method extends TreeMethod>(
    method: Method,
    argument: ArgumentOf<Method>,
  ): Promise<ReplyOf<Method>> {
    checkData(method, argument);
    return Json.as(await this.#start(() => this.tree.issue(method, argument)));
  }

  /** Takes the inbox. Its items are delivered when the promise resolves. */
  async refresh(): Promise<void> {
    if (this.#isFresh) this.#isFresh = false;
    else await this.#deliver(await this.report("take", {}));
  }

  /** Replies to another run. New inbox items are delivered when the promise resolves. */
  async reply(answer: Omit<ArgumentOf<"reply">, keyof FromRun>): Promise<void> {
    await this.#deliver(await this.report("reply", answer));
    this.#isFresh = true;
  }

  /** Resolves when the items are delivered to the code. */
  #deliver(news: InboxBatch): Promise<void> {
    return new Promise((resolve) => this.#ingest(news, resolve));
  }

  /** Runs agent code to its end. */
  async drive<T>(body: () => Promise<T>): Promise<RunEnding<T>> {
    // Items that waited when the run began are delivered before its code runs.
    for (const news of this.#deliveries.splice(0)) this.#deliverOne(news);
    const code: { ending: RunEnding<T> | null } = { ending: null };
    body().then(
      (value) => (code.ending = { kind: "returned", value }),
      (error: unknown) => (code.ending = { kind: "threw", error }),
    );
    await this.#primitives.flushMicrotasks();
    while (!code.ending || !this.#effects.isEmpty || this.#deadline.mustAsk) {
      // Each turn waits for the previous one: this is the purpose of the driver.
      const stuck = await this.#turn(() => code.ending === null);
      if (!stuck) continue;
      this.#isOver = true;
      return { kind: "threw", error: stuck };
    }
    this.#isOver = true;
    return code.ending;
  }

  /** Calls the tree when no code runs any more. */
  async finish<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): Promise<ReplyOf<Method>> {
    return this.#callNow(method, argument);
  }

  /** Ends the run from outside its code: the journal does not match the code's requests. */
  diverge(error: Error): Promise<never> {
    this.#fatal ??= error;
    return new Promise(() => undefined);
  }

  /** Processes one event. Returns an error if nothing more can happen. */
  async #turn(isAlive: () => boolean): Promise<Error | null> {
    if (this.#fatal) return this.#fatal;
    const news = this.#deliveries.shift();
    if (news) {
      this.#deliverOne(news);
      await this.#primitives.flushMicrotasks();
      return null;
    }
    if (this.#intake.hasMore || this.#deadline.mustAsk) {
      const taken = await this.#callNow("take", {});
      this.#ingest(taken);
      this.#deadline.noticeTreeTime(this.#time, taken.at);
      return null;
    }
    if (this.#effects.hasLine && this.#rest.isResting) {
      await this.#takeNews();
      return null;
    }
    if (this.#mayBegin) this.#effects.begin();
    if (!this.#effects.hasOpen) {
      if (!isAlive()) {
        this.#effects.dismiss(new CancellationError({ reason: "ended" }));
        return null;
      }
      if (await this.#isStuck(isAlive)) return this.#createUnjournaledError();
      const isIdle = this.#deliveries.length === 0 && !this.#intake.hasMore && !this.#effects.hasOpen;
      if (!isAlive() || !isIdle) return null;
    }
    this.#expectNews();
    const winner = await this.#primitives.race(this.#raced);
    this.#isFresh = false;
    if (!this.#effects.settle(winner)) await this.#notice(winner);
    await this.#primitives.flushMicrotasks();
    return null;
  }

  /** Handles the state with nothing in flight: yields, waits, or detects that nothing can ever happen. */
  async #isStuck(isAlive: () => boolean): Promise<boolean> {
    if (this.#token.cancelled || this.waits.size === 0) {
      await this.#primitives.flushMicrotasks();
      const isWaiting = !this.#effects.isEmpty || this.waits.size > 0;
      if (isAlive() && !isWaiting && this.#deliveries.length === 0)
        return this.#intake.slotState === "running" || this.#token.cancelled;
      if (!isAlive() || this.#effects.hasOpen) return false;
    }
    if (this.#token.cancelled) return false;
    if (this.#intake.slotState === "yielding")
      this.#ingest(await this.#callNow("yield", this.outbox.takeUnsentText()));
    else if (this.#intake.slotState === "running" && this.waits.size > 0) await this.#restOnce();
    return false;
  }

  /** Tells the tree that the run waits, unless the tree knows the waits and has all reports. */
  async #restOnce(): Promise<void> {
    const { on } = this.waits;
    if (this.#rest.covers(on) && this.outbox.unsent.length === 0) return;
    const news = await this.#callNow("wait", { on, ...this.outbox.takeUnsentText() });
    this.#ingest(news);
    if (news.items.length === 0 && news.slotState === "running") this.#rest.begin(on);
    else this.#rest.end();
  }

  /** Whether effects may begin: the run has its slot, and the tree does not count it as waiting. */
  get #mayBegin(): boolean {
    return this.#intake.slotState === "running" && !this.#rest.isResting;
  }

  #createUnjournaledError(): Error {
    return new UnjournaledAwaitError({ run: this.#primitives.launch.runId, lastStep: this.steps.last });
  }

  /** Requests the events other than effects: the inbox wake-up, and the earliest due time. */
  #expectNews(): void {
    this.#raced.wake ??= this.#primitives.wake(`inbox/${this.#intake.cursor}`);
    const at = Math.min(this.waits.earliest ?? Infinity, this.#grace ?? Infinity, this.#deadline.askAt);
    this.#raced.timer = at === Infinity ? null : this.#timers.arm(at);
  }

  /** Handles an event that is not an effect. */
  async #notice(winner: Operation): Promise<void> {
    if (winner === this.#raced.wake) {
      const news = winner.outcome?.ok ? winner.outcome.value : null;
      if (news === null) await this.#takeNews();
      else this.#ingest(this.tree.readBatch(news));
    } else if (winner === this.#raced.cancelled) {
      this.#raced.cancelled = null;
      if (this.#token.cancelled) return;
      // If none of the items is a cancel from the tree, the engine's operator has cancelled the run.
      await this.#takeNews(() => this.#token.cancel("engine"));
    } else {
      const at = this.#timers.take(winner);
      if (at === null) return;
      this.learnWorkerTime(at);
      if (this.#rest.isResting) await this.#takeNews();
      this.#deliveries.push(() => this.#expire(at));
    }
  }

  /** Takes items from the inbox. With `onAll`, takes all of them and calls it after the last one is delivered. */
  async #takeNews(onAll: (() => void) | null = null): Promise<void> {
    const news = await this.#callNow("take", {});
    this.#ingest(news, news.more ? null : onAll);
    this.#rest.end();
    if (news.more && onAll) await this.#takeNews(onAll);
  }

  #expire(now: number): void {
    if (this.#grace !== null && now >= this.#grace) {
      // Effects that ignore the cancel are abandoned.
      this.#grace = null;
      this.#effects.abandon(this.#cancellation());
    }
    if (this.waits.expireOne(now)) this.#deliveries.push(() => this.#expire(now));
  }

  #ingest(news: InboxBatch, onDelivered: (() => void) | null = null): void {
    this.#learnTime(news.at);
    const { cursor } = this.#intake;
    for (const taken of this.#intake.accept({ news, onDelivered })) {
      this.#deliveries.push(...taken.news.items);
      if (taken.onDelivered) this.#deliveries.push(taken.onDelivered);
    }
    if (this.#intake.cursor !== cursor) this.#raced.wake = null;
  }

  #deliverOne(news: InboxItem | (() => void)): void {
    if (typeof news === "function") news();
    else if (news.kind === "cancel") this.#token.cancel(news.reason);
    else if (news.kind === "abortCall") this.#effects.abort(new PreemptedError());
    // Pauses and resumes only wake the run. Its slot state comes with the inbox.
    else if (news.kind !== "pause" && news.kind !== "resume") this.#onItem(news);
  }

  /** Stops the run: cancelled by its tree, by its deadline, or by its own code. */
  #stop(): void {
    this.#deadline.drop();
    this.#grace = this.#time + graceMs;
    const error = this.#cancellation();
    this.#effects.abort(error);
    this.#effects.dismiss(error);
    this.waits.failAll(error, () => this.#refuse());
  }

  /** Refuses a call after the cancel. Code that keeps calling waits forever. */
  #refuse(): Promise<never> {
    return this.#countRefusal() ? Promise.reject(this.#cancellation()) : new Promise(() => undefined);
  }

  /** Counts a refused call. Returns false after too many: the run is then concluded without its code. */
  #countRefusal(): boolean {
    const mayThrow = this.#refusals.countCall();
    if (!mayThrow) this.#fatal ??= this.#cancellation();
    return mayThrow;
  }

  #cancellation(): CancellationError {
    return new CancellationError({ reason: this.#token.reason ?? "cancelled" });
  }

  /** Begins an operation, now or when there is room and the run has its slot. */
  #start(issue: () => Operation): Promise<Json> {
    // Code that still runs after its run has ended, on another promise, waits forever.
    if (this.#isOver) return new Promise(() => undefined);
    if (this.#token.cancelled) return this.#refuse();
    this.#isFresh = false;
    const promise = this.#effects.add(issue);
    if (this.#mayBegin && !this.#deadline.mustAsk) this.#effects.begin();
    return promise;
  }

  /** Makes a call for the driver itself, between the turns of the code. */
  async #callNow<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): Promise<ReplyOf<Method>> {
    const call = this.tree.prepareReporting(method, argument);
    await this.#primitives.race(new Set([call.issue(this.#time)]));
    return call.finish();
  }
}
