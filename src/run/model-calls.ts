// The model calls of one execution of a step.
//
// Job: take each attempt of a call through estimate, gate, model and charge, and retry transient failures. Neighbours:
// gated-step creates one instance per execution and books its charges; call-estimate computes the upper bound; the gate
// is `begin` of the tree; answer-watch cuts off repetitive answers; step-manifest records prompt and response.
//
// Invariants:
// 1. No model is called without a grant of the gate. Every attempt has its own id and its own reservation.
// 2. Every attempt that passed the gate leaves one charge, answered or failed. Unknown usage stays at the ceiling.
// 3. All retries of a step share one count, across layers and executions, so levels of retries never multiply.
// 4. Once `stop` is set the step ends, even if middleware catches the error.
// 5. In a tool's step nothing is repeated: its calls wait inside the step, and never in the tree's queue for money.

import {
  AttemptId,
  BudgetExhaustedError,
  checkDuration,
  encodeError,
  ModelError,
  ReeveError,
  StepId,
  SupersededError,
  Usage,
  type AgentPolicy,
  type ChatMessage,
  type EntryId,
  type ErrorData,
  type LlmOptions,
  type Model,
  type ModelResponse,
  type ModelRetry,
  type StepDecision,
} from "#kernel";
import type { Gate } from "#ledger";
import { withTimeout } from "#base";
import { withProtocol, type BeginArgument, type FromRun, type CallRequest } from "#tree";
import { AnswerWatch } from "./answer-watch.ts";
import { estimateCall, freezeList, type CallSizing } from "./call-estimate.ts";
import { toCancelled, toStop, type Stop } from "./step-stop.ts";
import { toRequest } from "./model-request.ts";
import { isFinal, toDelayMs } from "./retry-delay.ts";
import type { PromptFiles } from "./read-files.ts";
import type { RunSession } from "./run-session.ts";
import type { StepRecorder } from "./step-manifest.ts";
import { getStopError, maxWaitInStepMs, type RunningStep, type StepServices } from "./step.ts";

const defaultBaseMs = 2_000;
/** Delays between tries while other trees of the tenant are asked to return their unused money. */
const tenantWaitsMs: readonly number[] = [50, 200, 500, 1_000, 2_000];
/** The timeout of an attempt, unless a layer sets another. */
export const defaultTimeoutMs = 600_000;

/** A record of one attempt, for the charges and the stream. */
export interface AttemptRecord {
  readonly attempt: AttemptId;
  readonly model: string;
  /** Null: unknown. */
  readonly usage: Usage | null;
  readonly ms: number;
  readonly error?: ErrorData | undefined;
  /** The number of the retry. 0: the first try. */
  readonly retry: number;
  /** The retry that followed, and its delay. */
  readonly again?: { readonly retry: number; readonly delayMs: number } | undefined;
}

/** The services that model calls need from their run. */
interface CallServices extends StepServices {
  readonly policy: { readonly agent: Pick<AgentPolicy, "retry"> };
  readonly state: CallSizing & {
    readonly session: Pick<RunSession, "flush">;
    readonly steps: Pick<StepRecorder, "keepModelCall">;
    readonly files: PromptFiles;
  };
}

/** A request to the gate, without the fields of every request. */
type GateCall = Omit<BeginArgument, keyof FromRun | "epoch">;

/** The kind of step that makes the calls, and the state of its earlier executions. */
export interface CallsOwner {
  /**
   * In a tool's step nothing is repeated: its model calls have separate positions in the ledger, and wait inside the
   * step. The same holds for a compaction, whose calls do not count as turns.
   */
  readonly of: "model" | "tool" | "compaction";
  /** Retries before this execution. Default: 0. */
  readonly used?: number;
  /** Start of the step's wait for money. Default: none. */
  readonly waitsSince?: number | null;
}

/** A call's position in the ledger, the same for all its attempts. */
interface CallRef {
  readonly step: StepId;
  /** The last retry that was recorded. */
  retry: number;
}

/** A call to make. */
interface ModelCall {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  /** The stored conversation's first entry in the prompt. Null: none. Absent: it was not read. */
  readonly from?: EntryId | null | undefined;
  /** See `ModelRequest.stable`. */
  readonly stable?: readonly number[] | undefined;
  /** Messages that are shown last, in this call only. They are not stored. Default: none. */
  readonly ephemeral?: readonly ChatMessage[] | undefined;
  /** Default: the agent's. */
  readonly retry?: ModelRetry | undefined;
  /** Default: 600,000. */
  readonly timeoutMs?: number;
  /** Whether the pieces of the answer are streamed to subscribers. Default: true. */
  readonly isWatched?: boolean;
  /** Whether it counts as a turn of the run, unless its step is a compaction. Default: true. */
  readonly isTurn?: boolean;
}

/** One call at its position, with any number of attempts. */
type ModelCallRequest = CallRef &
  Required<Omit<ModelCall, "retry" | "from" | "stable" | "ephemeral">> &
  Pick<ModelCall, "from" | "stable"> & { readonly ephemeral: readonly ChatMessage[] };

/** The model calls of one execution of one step. Each passes the gate and is charged separately. */
export class ModelCalls {
  readonly charges: AttemptRecord[] = [];
  /** The decisions of middleware about the next call, for its manifest. */
  readonly notes: StepDecision[] = [];
  /** Start time of each charge. */
  readonly #began: number[] = [];
  /** The number of the last report that the tree has booked. */
  reported = 0;
  /** Set once the step must end. The step ends even if middleware catches the error. */
  stop: Stop | null = null;
  readonly #services: CallServices;
  readonly #step: RunningStep;
  readonly #owner: CallsOwner;
  #calls = 0;
  #attempts = 0;
  /**
   * Retries of all calls of the step together, including earlier executions, so that levels of retries never multiply.
   */
  #retries: number;
  #failed: { readonly attempt: AttemptId; readonly place: CallRef } | null = null;
  /** The call that the next attempt belongs to. Null: a new call. */
  #repeated: CallRef | null = null;

  constructor(services: CallServices, step: RunningStep, owner: CallsOwner) {
    this.#services = services;
    this.#step = step;
    this.#owner = owner;
    this.#retries = owner.used ?? 0;
  }

  get retries(): number {
    return this.#retries;
  }

  /** Makes a call, with retries, until it is answered, refused, or fails permanently. */
  async make({
    model,
    messages,
    options,
    from,
    stable,
    ephemeral = [],
    retry = this.#services.policy.agent.retry ?? {},
    timeoutMs = defaultTimeoutMs,
    isWatched = true,
    isTurn = true,
  }: ModelCall): Promise<ModelResponse> {
    const { maxRetries = 3, baseMs = defaultBaseMs } = retry;
    const shown = freezeList(ephemeral.length === 0 ? messages : [...messages, ...ephemeral]);
    const sent = { model, messages: shown, ephemeral, options, from, stable, timeoutMs, isWatched, isTurn };
    const asked: ModelCallRequest = { ...this.#nextPlace(), ...sent };
    const first = this.charges.length;
    for (;;) {
      const attempt = this.#attemptId();
      try {
        const response = await this.#attempt(attempt, asked);
        await this.#record(asked, first, response);
        return response;
      } catch (error) {
        this.#failed = { attempt, place: asked };
        const mayPass = ReeveError.is(error) && error.retryable && this.stop === null;
        if (!mayPass || this.#retries >= maxRetries) {
          await this.#record(asked, first);
          throw error;
        }
        asked.retry = this.#retries += 1;
        await this.#pause(attempt, asked.retry, toDelayMs(error, { retry: asked.retry, baseMs, attempt }));
      }
    }
  }

  /** Records the manifest of a call: its attempts from `first` on. */
  #record(
    { step, model, messages, ephemeral, options, isWatched: isOwn }: ModelCallRequest,
    first: number,
    response?: ModelResponse,
  ): Promise<void> {
    const { tools = [] } = options;
    const attempts = this.charges.slice(first);
    const made = { attempts, began: this.#began.slice(first), response, decisions: this.notes.splice(0) };
    return this.#services.state.steps.keepModelCall({
      step,
      model,
      messages,
      ephemeral,
      tools,
      isOwn,
      ...made,
    });
  }

  /** Makes the next call another attempt of the one that failed last. */
  async waitForRetry(
    error: unknown,
    { baseMs = defaultBaseMs }: Pick<ModelRetry, "baseMs"> = {},
  ): Promise<void> {
    if (this.stop !== null || this.findStop() !== null || isFinal(error)) throw error;
    const retry = (this.#retries += 1);
    const failed = this.#owner.of === "model" ? this.#failed : null;
    if (failed) this.#repeated = { step: failed.place.step, retry };
    const attempt = failed?.attempt ?? AttemptId.of(this.#step.io.attempt);
    await this.#pause(attempt, retry, toDelayMs(error, { retry, baseMs, attempt }));
  }

  /** Waits: in the step if it is short, else by ending the step. */
  async wait(ms: number): Promise<void> {
    const { clock } = this.#services.engine;
    if (this.stop !== null) throw new Error("the step must end");
    checkDuration("ms", ms);
    if (ms > maxWaitInStepMs && this.#owner.of === "model") {
      this.stop = { kind: "later", at: clock.now() + ms, retries: this.#retries };
      throw new Error("the call is retried later");
    }
    await clock.waitUntil(clock.now() + ms, this.#step.io.signal).catch((error: unknown) => {
      throw this.findStop() ?? error;
    });
  }

  #nextPlace(): CallRef {
    const repeated = this.#repeated;
    this.#repeated = null;
    if (repeated) return repeated;
    const index = this.#calls++;
    const step = StepId.inner(this.#step.place.id, this.#number(index));
    return { step, retry: index === 0 ? (this.#owner.used ?? 0) : 0 };
  }

  async #attempt(attempt: AttemptId, asked: ModelCallRequest): Promise<ModelResponse> {
    const { primitives, clock, openFeed } = this.#services.engine;
    const { model, messages, timeoutMs } = asked;
    const { reservation, remedy } = estimateCall(this.#services.state, asked);
    // Before the gate, so that an unreadable file leaves no reservation.
    const reading = this.#services.state.files.read(messages, this.#step.io.call);
    const whole = reading instanceof Promise ? await reading : reading;
    const gate = this.#requireGrant(await this.#pass(attempt, asked, reservation), asked, remedy);
    // Concurrent with the call. If it fails, the next step writes the messages.
    void this.#services.state.session.flush().catch(() => undefined);
    const began = primitives.now();
    const granted = { messages: whole, maxOutputTokens: gate.outputTokens };
    const request = toRequest(asked, granted, this.#services.identity);
    const feed = asked.isWatched ? openFeed(asked.step, attempt) : undefined;
    const watch = new AnswerWatch(asked.options.repetition, feed?.take, this.#step.io.signal);
    const made = { attempt, model: model.id, retry: asked.retry };
    try {
      const limit = { clock, ms: timeoutMs, signal: watch.signal, onTimeout: () => failLate(timeoutMs) };
      const answer = withTimeout<ModelResponse>(limit, (limited) =>
        model.generate(request, watch.toCall(limited)),
      );
      const response = await (asked.options.repetition ? watch.cut(answer) : answer);
      this.#charge({ ...made, usage: response.usage, ms: primitives.now() - began }, began);
      return gate.shrunk ? { ...response, shrunk: gate.shrunk } : response;
    } catch (error) {
      const stopped = this.findStop();
      const usage = error instanceof ModelError && error.unbilled ? Usage.none : null;
      const ms = primitives.now() - began;
      this.#charge({ ...made, usage, ms, error: encodeError(stopped ?? error) }, began);
      throw stopped ?? error;
    } finally {
      feed?.end();
    }
  }

  #charge(charge: AttemptRecord, began: number): void {
    this.charges.push(charge);
    this.#began.push(began);
  }

  /** Returns whether the step must end, even if middleware has caught the error. */
  mustStop(): boolean {
    return this.findStop() !== null || this.stop !== null;
  }

  /**
   * Returns the reason why the step must end. Null: it need not. A layer may have waited for something else than a
   * call.
   */
  findStop(): ReeveError | null {
    const stopped = getStopError(this.#step.io.signal);
    if (stopped) this.stop ??= stopped.code === "preempted" ? { kind: "interrupted" } : toCancelled(stopped);
    return stopped;
  }

  /** Asks the gate whether a call of the step, or its tool, may begin. Carries unsent reports. */
  async begin(call: GateCall): Promise<Gate> {
    const { primitives, driver } = this.#services.engine;
    const { launch } = primitives;
    const { runId: run, continuation } = launch;
    const from: FromRun = { run, continuation, reports: driver.outbox.unsent, at: primitives.now() };
    const begin: BeginArgument = { ...call, ...from, epoch: this.#step.io.epoch };
    const answer = await this.#step.io.call(launch.tree, "begin", withProtocol(begin, launch));
    // Not journaled, so never replayed.
    const { gate, reported } = driver.tree.unpack<"begin">(answer, true);
    // The run has not ended: it continues in another execution.
    if (gate.kind === "refused" && gate.why === "superseded")
      return this.#step.io.giveUp(new SupersededError());
    this.reported = Math.max(this.reported, reported);
    return gate;
  }

  /**
   * Asks the gate. If other trees hold the tenant's money, they are asked to return it. Waits for it for a short time,
   * and then takes what is available.
   */
  async #pass(attempt: AttemptId, asked: ModelCallRequest, ask: CallRequest): Promise<Gate> {
    for (const ms of tenantWaitsMs) {
      const gate = await this.begin({ ...this.#toGateCall(attempt, asked, ask), mayWait: true });
      if (gate.kind !== "needs-lease") return gate;
      await this.wait(ms);
    }
    return this.begin({ ...this.#toGateCall(attempt, asked, ask), mayWait: false });
  }

  #toGateCall(attempt: AttemptId, asked: ModelCallRequest, ask: CallRequest): GateCall {
    return {
      step: asked.step,
      attempt,
      ask: asked.isTurn && this.#owner.of !== "compaction" ? ask : { ...ask, uncounted: true },
      rerun: false,
      previous: this.charges.map(({ attempt: made, usage, again }) => ({
        attempt: made,
        usage,
        again: again !== undefined,
      })),
      subject: asked.model.id,
      timeoutMs: asked.timeoutMs,
      // In a tool's step nothing is repeated, so none of its calls can wait.
      ...(this.#owner.of === "model" && { waitsSince: this.#owner.waitsSince ?? null }),
    };
  }

  /** Returns the grant. A refusal ends the step. @throws the reason of the refusal. */
  #requireGrant(gate: Gate, { step }: CallRef, remedy: string | null): Extract<Gate, { kind: "granted" }> {
    if (gate.kind === "granted") {
      // Attempts that died with their worker count: a crash gives no new retries.
      this.#retries = Math.max(this.#retries, gate.attempts - 1);
      return gate;
    }
    throw this.#refusal(gate, step, remedy);
  }

  #refusal(gate: Exclude<Gate, { kind: "granted" }>, step: StepId, remedy: string | null): Error {
    if (gate.kind === "denied")
      return new BudgetExhaustedError({ ...gate, ...(gate.reason === "unbounded" && { remedy }) });
    if (gate.kind === "waits") {
      this.stop = { kind: "budget", step, since: gate.since, retries: this.#retries };
      return new Error("the call is retried when the budget allows it");
    }
    if (gate.kind !== "refused") return new Error(`the gate answered a model call with ${gate.kind}`);
    this.stop = toStop(gate);
    return new Error(`the gate refused: ${gate.why}`);
  }

  async #pause(attempt: AttemptId, retry: number, delayMs: number): Promise<void> {
    const index = this.charges.findIndex((charge) => charge.attempt === attempt);
    const failed = this.charges[index];
    if (failed?.error) this.charges[index] = { ...failed, again: { retry, delayMs } };
    await this.wait(delayMs);
  }

  #attemptId(): AttemptId {
    const number = this.#number(this.#attempts++);
    return AttemptId.of(number === 0 ? this.#step.io.attempt : `${this.#step.io.attempt}.${number}`);
  }

  /** Returns a call's number in the step. In a tool's step, number 0 is the tool itself. */
  #number(index: number): number {
    return this.#owner.of === "model" ? index : index + 1;
  }
}

function failLate(timeoutMs: number): never {
  throw new ModelError({ kind: "timeout", message: `no answer from the model after ${timeoutMs / 1000} s` });
}
