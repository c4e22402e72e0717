import {
  CancellationError,
  decodeError,
  Json,
  PreemptedError,
  TooManyStepsError,
  UnjournaledAwaitError,
  type CancellationToken,
  type Operation,
  type Primitives,
  type StepIo,
} from "#kernel";
import type { ArgumentOf, FromRun, News, ReplyOf, TreeMethod } from "../tree/protocol.ts";
import type { InboxItem } from "../tree/records.ts";
import { Effects } from "./effects.ts";
import { Intake } from "./intake.ts";
import { Outbox } from "./outbox.ts";
import { Waits } from "./waits.ts";

/** How long an effect may take to notice that its run is cancelled. */
const graceMs = 1_000;
/** From here on a replay takes seconds; there it would take minutes. */
const manySteps = 10_000;
const mostSteps = 50_000;

/** How agent code ended. */
export type Ending<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown };

/** A method of the tree that a run calls with its reports. */
type RunMethod = { [M in TreeMethod]: ArgumentOf<M> extends FromRun ? M : never }[TreeMethod];

/**
 * Lets plain async code run over a journal. Code is handed native promises; only the driver awaits the engine,
 * always through one `pick` over everything open, settles exactly the one that finished, lets the code run as far
 * as it can, and picks again. So a replay issues the same operations in the same order.
 */
export class Driver {
  readonly outbox = new Outbox();
  readonly waits = new Waits();
  readonly #primitives: Primitives;
  readonly #token: CancellationToken;
  readonly #onItem: (item: InboxItem) => void;
  readonly #effects = new Effects();
  /** What the code is told next, one at a time: things from the inbox, and calls that waited for them. */
  readonly #news: (InboxItem | (() => void))[] = [];
  readonly #intake: Intake;
  #wake: Operation | null = null;
  #timer: { readonly at: number; readonly operation: Operation } | null = null;
  #cancelled: Operation | null;
  #deadline: number | null;
  #grace: number | null = null;
  #resting = false;
  /** Has nothing happened since the last news? Then they need not be taken again, once. */
  #isFresh = false;
  #fatal: Error | null = null;
  #isOver = false;
  #time: number;
  #steps = 0;
  #lastStep: string | null = null;

  constructor(options: {
    readonly primitives: Primitives;
    readonly token: CancellationToken;
    readonly deadline: number | null;
    readonly news: News;
    /** Takes what is not the driver's own: everything but pauses and cancels. */
    readonly onItem: (item: InboxItem) => void;
  }) {
    this.#primitives = options.primitives;
    this.#token = options.token;
    this.#deadline = options.deadline;
    this.#onItem = options.onItem;
    this.#intake = new Intake(options.news);
    this.#time = options.news.at;
    this.#cancelled = options.primitives.cancelled();
    this.#token.signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#ingest(options.news);
  }

  /** The latest time this run knows of: the same on every replay. */
  get time(): number {
    return this.#time;
  }

  /** Time has passed: whoever told, a deadline that lies behind it is over before anything else happens. */
  learnTime(at: number): void {
    this.#time = Math.max(this.#time, at);
    if (this.#deadline !== null && this.#time > this.#deadline) this.#token.cancel("deadline");
  }

  /** What was taken from the inbox and not told to the code. */
  get untold(): readonly InboxItem[] {
    return this.#news.filter((news) => typeof news !== "function");
  }

  /** @throws CancellationError when cancelled or past the deadline. */
  check(): void {
    this.#token.check();
  }

  /** The tree has refused to let anything more begin. @throws CancellationError */
  stopped(reason: string): never {
    this.#token.cancel(reason);
    throw this.#cancellation();
  }

  /** How many steps were named so far. */
  get steps(): number {
    return this.#steps;
  }

  /** The name of the next step: its kind and its place in the run. @throws TooManyStepsError */
  nameStep(kind: string): { readonly name: string; readonly number: number } {
    const run = this.#primitives.launch.runId;
    if (this.#steps >= mostSteps) throw new TooManyStepsError({ run, limit: mostSteps });
    const number = ++this.#steps;
    if (number === manySteps && this.#primitives.isLive)
      process.emitWarning(`run ${run} has made ${number} steps; all are replayed after a crash`);
    this.#lastStep = `${kind}:${number}`;
    return { name: this.#lastStep, number };
  }

  /** Runs a closure as one journaled step, now or when there is room. */
  step(name: string, run: (io: StepIo) => Promise<Json>): Promise<Json> {
    return this.#start(() => this.#primitives.step(name, run));
  }

  /** Calls the tree, with whatever there is to report. */
  async report<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): Promise<ReplyOf<Method>> {
    let last = 0;
    const reply = await this.#start(() => {
      last = this.outbox.unsent.at(-1)?.number ?? 0;
      return this.#callTree(method, { ...argument, ...this.#from() });
    });
    this.outbox.acknowledge(last);
    return Json.as(reply);
  }

  /** Calls the tree. */
  async call<Method extends TreeMethod>(
    method: Method,
    argument: ArgumentOf<Method>,
  ): Promise<ReplyOf<Method>> {
    return Json.as(await this.#start(() => this.#callTree(method, argument)));
  }

  /** Takes what has come, so that it is there when the promise resolves. */
  async refresh(): Promise<void> {
    if (this.#isFresh) this.#isFresh = false;
    else await this.#told(await this.report("take", {}));
  }

  /** Answers another run. What has come meanwhile is there when the promise resolves. */
  async reply(answer: Omit<ArgumentOf<"reply">, keyof FromRun>): Promise<void> {
    await this.#told(await this.report("reply", answer));
    this.#isFresh = true;
  }

  /** Resolves when the code has been told. */
  #told(news: News): Promise<void> {
    return new Promise((resolve) => this.#ingest(news, resolve));
  }

  /** Runs agent code to its end. */
  async drive<T>(body: () => Promise<T>): Promise<Ending<T>> {
    // What waited when the run began is there before its code is.
    for (const news of this.#news.splice(0)) this.#tell(news);
    const code: { ending: Ending<T> | null } = { ending: null };
    body().then(
      (value) => (code.ending = { kind: "returned", value }),
      (error: unknown) => (code.ending = { kind: "threw", error }),
    );
    await this.#primitives.drain();
    while (!code.ending || !this.#effects.isEmpty) {
      // Each turn waits for the one before: that is the point of the driver.
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

  /** Ends the run from outside its code: what the journal holds is not what the code asks for. */
  diverge(error: Error): Promise<never> {
    this.#fatal ??= error;
    return new Promise(ignore);
  }

  /** One thing happens. Returns an error when nothing more can. */
  async #turn(isAlive: () => boolean): Promise<Error | null> {
    if (this.#fatal) return this.#fatal;
    const news = this.#news.shift();
    if (news) {
      this.#tell(news);
      await this.#primitives.drain();
      return null;
    }
    if (this.#intake.hasMore) {
      this.#ingest(await this.#callNow("take", {}));
      return null;
    }
    if (this.#intake.standing === "running") this.#effects.begin();
    if (!this.#effects.hasOpen) {
      if (!isAlive()) {
        this.#effects.dismiss(new CancellationError({ reason: "ended" }));
        return null;
      }
      if (await this.#isStuck(isAlive)) return this.#unjournaled();
      const isIdle = this.#news.length === 0 && !this.#intake.hasMore && !this.#effects.hasOpen;
      if (!isAlive() || !isIdle) return null;
    }
    const winner = await this.#primitives.pick(this.#open());
    this.#isFresh = false;
    if (!this.#effects.settle(winner)) await this.#notice(winner);
    await this.#primitives.drain();
    return null;
  }

  /** Nothing is in flight: yield, rest, or find out that nothing can ever happen. */
  async #isStuck(isAlive: () => boolean): Promise<boolean> {
    if (this.#token.cancelled || this.waits.size === 0) {
      await this.#primitives.drain();
      const isWaiting = !this.#effects.isEmpty || this.waits.size > 0;
      if (isAlive() && !isWaiting && this.#news.length === 0)
        return this.#intake.standing === "running" || this.#token.cancelled;
      if (!isAlive() || this.#effects.hasOpen) return false;
    }
    if (this.#token.cancelled) return false;
    if (this.#intake.standing === "yielding") this.#ingest(await this.#callNow("yield", {}));
    else if (this.#intake.standing === "running" && !this.#resting && this.waits.size > 0) {
      const news = await this.#callNow("rest", { on: this.waits.on });
      this.#ingest(news);
      this.#resting = news.items.length === 0 && news.standing === "running";
    }
    return false;
  }

  #unjournaled(): Error {
    return new UnjournaledAwaitError({ run: this.#primitives.launch.runId, lastStep: this.#lastStep });
  }

  /** Everything that can happen next. */
  #open(): readonly Operation[] {
    const operations = [...this.#effects.open];
    operations.push((this.#wake ??= this.#primitives.wake(`inbox/${this.#intake.cursor}`)));
    const timer = this.#armTimer();
    if (timer) operations.push(timer.operation);
    if (this.#cancelled) operations.push(this.#cancelled);
    return operations;
  }

  /** Something else than an effect has happened. */
  async #notice(winner: Operation): Promise<void> {
    if (winner === this.#wake) {
      await this.#takeNews();
    } else if (winner === this.#cancelled) {
      this.#cancelled = null;
      if (this.#token.cancelled) return;
      do {
        await this.#takeNews();
      } while (this.#intake.hasMore);
      // Without a word from the tree it was the engine's operator.
      this.#news.push(() => this.#token.cancel("engine"));
    } else if (winner === this.#timer?.operation) {
      const { at } = this.#timer;
      this.#timer = null;
      this.learnTime(at);
      if (this.#resting) await this.#takeNews();
      this.#news.push(() => this.#expire(at));
    }
  }

  async #takeNews(): Promise<void> {
    this.#ingest(await this.#callNow("take", {}));
    this.#resting = false;
  }

  #expire(now: number): void {
    if (this.#grace !== null && now >= this.#grace) {
      // What does not notice the cancel is left behind.
      this.#grace = null;
      this.#effects.abandon(this.#cancellation());
    }
    if (this.waits.expireOne(now)) this.#news.push(() => this.#expire(now));
  }

  /** The one timer: the earliest moment anything is due. A later one that was armed before is let go. */
  #armTimer(): { readonly at: number; readonly operation: Operation } | null {
    const deadline = this.#deadline === null ? Infinity : this.#deadline + 1;
    const at = Math.min(this.waits.earliest ?? Infinity, this.#grace ?? Infinity, deadline);
    if (at === Infinity) return null;
    if (this.#timer?.at !== at) this.#timer = { at, operation: this.#primitives.sleepUntil(at) };
    return this.#timer;
  }

  #ingest(news: News, done: (() => void) | null = null): void {
    this.learnTime(news.at);
    const { cursor } = this.#intake;
    for (const taken of this.#intake.accept({ news, done })) {
      this.#news.push(...taken.news.items);
      if (taken.done) this.#news.push(taken.done);
    }
    if (this.#intake.cursor !== cursor) this.#wake = null;
  }

  #tell(news: InboxItem | (() => void)): void {
    if (typeof news === "function") news();
    else this.#receive(news);
  }

  #receive(item: InboxItem): void {
    if (item.kind === "cancel") this.#token.cancel(item.reason);
    else if (item.kind === "abortCall") this.#effects.abort(new PreemptedError());
    // Pauses and resumes only wake the run: how it stands comes with the news.
    else if (item.kind !== "pause" && item.kind !== "resume") this.#onItem(item);
  }

  /** The run was cancelled: by its tree, by its deadline, or by its own code. */
  #stop(): void {
    this.#deadline = null;
    this.#grace = this.#time + graceMs;
    const error = this.#cancellation();
    this.#effects.abort(error);
    this.#effects.dismiss(error);
    this.waits.failAll(error);
  }

  #cancellation(): CancellationError {
    return new CancellationError({ reason: this.#token.reason ?? "cancelled" });
  }

  /** Begins something, now or when there is room and the run has its slot. */
  #start(issue: () => Operation): Promise<Json> {
    // Code that outlives its run, on a promise of its own, gets nowhere.
    if (this.#isOver) return new Promise(ignore);
    if (this.#token.cancelled) return Promise.reject(this.#cancellation());
    this.#isFresh = false;
    const promise = this.#effects.add(issue);
    if (this.#intake.standing === "running") this.#effects.begin();
    return promise;
  }

  #from(): FromRun {
    const { runId: run, continuation } = this.#primitives.launch;
    return { run, continuation, reports: this.outbox.unsent, at: this.#time };
  }

  #callTree(method: string, argument: unknown): Operation {
    return this.#primitives.call(this.#primitives.launch.tree, method, Json.of(argument));
  }

  /** A call that the driver itself makes, between the turns of the code. */
  async #callNow<Method extends RunMethod>(
    method: Method,
    argument: Omit<ArgumentOf<Method>, keyof FromRun>,
  ): Promise<ReplyOf<Method>> {
    const last = this.outbox.unsent.at(-1)?.number ?? 0;
    const operation = this.#callTree(method, { ...argument, ...this.#from() });
    await this.#primitives.pick([operation]);
    this.outbox.acknowledge(last);
    if (!operation.outcome?.ok) throw decodeError(operation.outcome?.error ?? { code: "not-found" });
    return Json.as(operation.outcome.value);
  }
}

const ignore = (): void => undefined;
