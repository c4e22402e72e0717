import {
  AttemptId,
  BudgetExhaustedError,
  CancellationError,
  encodeError,
  MiddlewareTermination,
  ModelError,
  PreemptedError,
  ReeveError,
  StepId,
  Usage,
  type ChatMessage,
  type ErrorData,
  type EventPayloads,
  type LlmOptions,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetry,
  type Price,
  type StepIo,
} from "#kernel";
import type { Amounts, Gate } from "#ledger";
import { seededRandom } from "../random.ts";
import type { ReplyOf } from "../tree/protocol.ts";
import type { ModelHost } from "./model-host.ts";
import { passGate } from "./pass-gate.ts";
import { longestWaitInStepMs, stoppedBy, type StepPlace } from "./step.ts";
import { wishOf } from "./wish.ts";
import { within } from "./within.ts";

const longestRetryAfterMs = 60_000;
const defaultBaseMs = 2_000;
/** How long an attempt may take unless somebody says otherwise. */
export const defaultTimeoutMs = 600_000;

/** One attempt that was made, for the bill and the stream. */
export interface Charge {
  readonly attempt: AttemptId;
  readonly model: string;
  /** Null: nobody knows. */
  readonly usage: Usage | null;
  readonly ms: number;
  readonly error?: ErrorData | undefined;
  /** The how many-th retry of its call this was; 0: none. */
  readonly retry: number;
  /** The retry that followed, and how long it was waited for. */
  readonly again?: { readonly retry: number; readonly delayMs: number } | undefined;
}

/** Why a step's closure ends without an answer and without a failure. */
export type Stop =
  | { readonly kind: "paused" }
  /** Its run had to yield: to be made again. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** To be made again, but not soon. */
  | { readonly kind: "later"; readonly at: number; readonly retries: number };

/** Whose model calls these are. */
interface CallsOwner {
  /** Beside a tool nothing is made twice: the calls have their own places in the ledger, and wait inside the step. */
  readonly of: "model" | "tool";
  /** Retries made before this execution. Default 0. */
  readonly used?: number;
}

/** A call's place in the ledger, the same for all its attempts. */
interface CallPlace {
  readonly step: StepId;
  /** The last retry that was announced. */
  retry: number;
}

/** One call: as many attempts as it takes. */
interface Asked extends CallPlace {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
  readonly timeoutMs: number;
}

/** How a call is made, where a layer says so. */
interface Making {
  /** Default: the agent's. */
  readonly retry?: ModelRetry | undefined;
  /** Default 600,000. */
  readonly timeoutMs?: number;
}

/** The model calls of one execution of one step: each through the gate, each on the bill, each on its own. */
export class ModelCalls {
  readonly charges: Charge[] = [];
  /** The number of the last report that the tree has booked. */
  reported = 0;
  /** Set once the step has to end. Whoever catches what is thrown then changes nothing. */
  stop: Stop | null = null;
  readonly #host: ModelHost;
  readonly #place: StepPlace;
  readonly #io: StepIo;
  readonly #owner: CallsOwner;
  #calls = 0;
  #attempts = 0;
  /** Of all calls of the step together, those before this execution included: so that levels never multiply. */
  #retries: number;
  #failed: { readonly attempt: AttemptId; readonly place: CallPlace } | null = null;
  /** What the next call is another attempt of. */
  #repeated: CallPlace | null = null;

  constructor(host: ModelHost, place: StepPlace, io: StepIo, owner: CallsOwner) {
    this.#host = host;
    this.#place = place;
    this.#io = io;
    this.#owner = owner;
    this.#retries = owner.used ?? 0;
  }

  get retries(): number {
    return this.#retries;
  }

  /** Calls until it is answered, refused, or fails for good. */
  async make(
    model: Model,
    messages: readonly ChatMessage[],
    options: LlmOptions,
    { retry = this.#host.policy.retry ?? {}, timeoutMs = defaultTimeoutMs }: Making = {},
  ): Promise<ModelResponse> {
    const { maxRetries = 3, baseMs = defaultBaseMs } = retry;
    const asked: Asked = { ...this.#nextPlace(), model, messages, options, timeoutMs };
    for (;;) {
      const attempt = this.#attemptId();
      try {
        return await this.#attempt(attempt, asked);
      } catch (error) {
        this.#failed = { attempt, place: asked };
        const mayPass = ReeveError.is(error) && error.retryable && this.stop === null;
        if (!mayPass || this.#retries >= maxRetries) throw error;
        asked.retry = this.#retries += 1;
        await this.#pause(attempt, asked.retry, delayOf(error, baseMs * 2 ** (asked.retry - 1), attempt));
      }
    }
  }

  /** Makes the next call another attempt of the one that failed last. */
  async again(error: unknown, { baseMs = defaultBaseMs }: Pick<ModelRetry, "baseMs"> = {}): Promise<void> {
    if (this.stop !== null || this.stopped() !== null || isFinal(error)) throw error;
    const retry = (this.#retries += 1);
    const failed = this.#owner.of === "model" ? this.#failed : null;
    if (failed) this.#repeated = { step: failed.place.step, retry };
    const attempt = failed?.attempt ?? AttemptId.of(this.#io.attempt);
    await this.#pause(attempt, retry, delayOf(error, baseMs * 2 ** (retry - 1), attempt));
  }

  /** Waits: here if it is short, else by ending the step. */
  async wait(ms: number): Promise<void> {
    const { clock } = this.#host;
    if (this.stop !== null) throw new Error("the step has to end");
    if (ms > longestWaitInStepMs && this.#owner.of === "model") {
      this.stop = { kind: "later", at: clock.now() + ms, retries: this.#retries };
      throw new Error("to be made again later");
    }
    await clock.waitUntil(clock.now() + ms, this.#io.signal).catch((error: unknown) => {
      throw this.stopped() ?? error;
    });
  }

  #nextPlace(): CallPlace {
    const repeated = this.#repeated;
    this.#repeated = null;
    if (repeated) return repeated;
    const index = this.#calls++;
    const step = StepId.inner(this.#place.id, this.#number(index));
    return { step, retry: index === 0 ? (this.#owner.used ?? 0) : 0 };
  }

  async #attempt(attempt: AttemptId, asked: Asked): Promise<ModelResponse> {
    const { primitives, clock, observer } = this.#host;
    const { model, messages, options, timeoutMs } = asked;
    const gate = this.#granted(attempt, await this.#pass(attempt, asked));
    const began = primitives.now();
    observer.seen("budget.reserved", gate.ceiling, attempt);
    observer.seen("model.start", { model: model.id, step: asked.step }, attempt);
    const request: ModelRequest = {
      messages,
      tools: options.tools ?? [],
      maxOutputTokens: gate.outputTokens,
      ...(options.providerOptions && { options: options.providerOptions }),
    };
    const { signal } = this.#io;
    const feed = this.#host.feedOf(asked.step, attempt);
    const made = { attempt, model: model.id, retry: asked.retry };
    try {
      const response = await within(
        clock,
        { ms: timeoutMs, signal, late: () => tooLate(timeoutMs) },
        (limited) =>
          model.generate(request, {
            get signal() {
              return limited.signal;
            },
            onDelta: feed?.take,
          }),
      );
      this.#charge({ ...made, usage: response.usage, ms: primitives.now() - began }, model, gate.ceiling);
      return gate.shrunk ? { ...response, shrunk: gate.shrunk } : response;
    } catch (error) {
      const stopped = this.stopped();
      const usage = error instanceof ModelError && error.unbilled ? Usage.none : null;
      const ms = primitives.now() - began;
      this.#charge({ ...made, usage, ms, error: encodeError(stopped ?? error) }, model, gate.ceiling);
      throw stopped ?? error;
    } finally {
      feed?.end();
    }
  }

  /** Must the step end, whoever caught what was thrown? */
  mustStop(): boolean {
    return this.stopped() !== null || this.stop !== null;
  }

  /** Why the step was told to end; null if it was not. Whoever waits for something else in a layer asks, too. */
  stopped(): ReeveError | null {
    const stopped = stoppedBy(this.#io.signal);
    if (stopped) this.stop ??= stopped.code === "preempted" ? { kind: "interrupted" } : cancelled(stopped);
    return stopped;
  }

  /** Puts an attempt on the bill. The hooks hear of it in the order of the stream. */
  #charge(charge: Charge, model: Model, ceiling: Amounts): void {
    this.charges.push(charge);
    const { observer, prices } = this.#host;
    const { usage, ms, error, attempt, retry } = charge;
    observer.seen("budget.settled", settled(usage, prices[model.id] ?? model.price, ceiling), attempt);
    const payload = { model: model.id, usage: usage ?? Usage.none, durationMs: ms, ...(error && { error }) };
    observer.seen("model.end", payload, attempt);
    if (retry > 0) observer.seen("retry.end", { retry, success: !error }, attempt);
  }

  #pass(attempt: AttemptId, asked: Asked): ReturnType<typeof passGate> {
    return passGate(this.#host, this.#io, {
      step: asked.step,
      attempt,
      ask: wishOf(this.#host, asked),
      rerun: false,
      previous: this.charges.map(({ attempt: made, usage, again }) => ({
        attempt: made,
        usage,
        again: again !== undefined,
      })),
      subject: asked.model.id,
    });
  }

  /** What the gate grants. What it refuses ends the step. @throws what says why. */
  #granted(attempt: AttemptId, { gate, reported }: ReplyOf<"begin">): Extract<Gate, { kind: "granted" }> {
    this.reported = reported;
    if (gate.kind === "granted") {
      // Attempts that died with their worker count: a crash gives no new retries.
      this.#retries = Math.max(this.#retries, gate.attempts - 1);
      return gate;
    }
    if (gate.kind === "denied") {
      const { dimension, limit, used } = gate;
      this.#host.observer.seen("budget.denied", { dimension, limit, used }, attempt);
    }
    throw this.#refusal(gate);
  }

  #refusal(gate: Exclude<Gate, { kind: "granted" }>): Error {
    if (gate.kind === "denied") return new BudgetExhaustedError(gate);
    if (gate.kind !== "refused") return new Error(`the gate answered a model call with ${gate.kind}`);
    this.stop = refused(gate);
    return new Error(`the gate refused: ${gate.why}`);
  }

  async #pause(attempt: AttemptId, retry: number, delayMs: number): Promise<void> {
    const index = this.charges.findIndex((charge) => charge.attempt === attempt);
    const failed = this.charges[index];
    if (failed?.error) {
      this.charges[index] = { ...failed, again: { retry, delayMs } };
      this.#host.observer.seen("retry.start", { retry, delayMs, error: failed.error }, attempt);
    }
    await this.wait(delayMs);
  }

  #attemptId(): AttemptId {
    const number = this.#number(this.#attempts++);
    return AttemptId.of(number === 0 ? this.#io.attempt : `${this.#io.attempt}.${number}`);
  }

  /** The step's own place is a tool's own; its model calls come after it. */
  #number(index: number): number {
    return this.#owner.of === "tool" ? index + 1 : index;
  }
}

/** What an attempt will be booked with: what it used, or all it might have. */
function settled(
  usage: Usage | null,
  price: Price | undefined,
  ceiling: Amounts,
): EventPayloads["budget.settled"] {
  if (!usage || !Usage.isSane(usage)) return { ...ceiling, inDoubt: true };
  return { tokens: Usage.tokens(usage), cost: price ? Usage.cost(usage, price) : 0, inDoubt: false };
}

const tooLate = (timeoutMs: number): Error =>
  new ModelError({ kind: "timeout", message: `no answer after ${timeoutMs / 1000} s` });

/** Is it no failure of the call, but the end of its run, or of its turn? */
const isFinal = (error: unknown): boolean =>
  error instanceof MiddlewareTermination ||
  error instanceof CancellationError ||
  error instanceof BudgetExhaustedError ||
  error instanceof PreemptedError;

/** What the provider asked for, up to a minute; else the schedule, 20 % more or less so that a fleet spreads out. */
function delayOf(error: unknown, scheduledMs: number, seed: string): number {
  const told = error instanceof Error && "retryAfterMs" in error ? error.retryAfterMs : null;
  const asked = typeof told === "number" ? told : 0;
  const jittered = scheduledMs * (0.8 + 0.4 * seededRandom(seed)());
  return Math.round(Math.max(jittered, Math.min(asked, longestRetryAfterMs)));
}

function cancelled(error: ReeveError): Stop {
  return { kind: "cancelled", reason: "reason" in error ? String(error.reason) : "cancelled" };
}

/** What a run that may begin nothing does: wait for its slot, or stop. */
export function refused(
  gate: Extract<Gate, { kind: "refused" }>,
): Extract<Stop, { kind: "paused" | "cancelled" }> {
  switch (gate.why) {
    case "paused":
      return { kind: "paused" };
    case "superseded":
      // Not the run's end: another execution has taken over, and the engine drops this one.
      throw new Error("superseded: a later execution of this run has passed the gate");
    case "cancelled":
    case "deadline":
    case "ended":
      return { kind: "cancelled", reason: gate.reason ?? gate.why };
  }
}
