import {
  AttemptId,
  BudgetExhaustedError,
  encodeError,
  Json,
  ModelError,
  ReeveError,
  Usage,
  type ChatMessage,
  type ErrorData,
  type LlmOptions,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetry,
  type StepIo,
} from "#kernel";
import type { Gate } from "#ledger";
import { estimateTokens, inputBound } from "#models";
import { seededRandom } from "../random.ts";
import type { ReplyOf, Wish } from "../tree/protocol.ts";
import type { ModelHost } from "./model-host.ts";
import { longestWaitInStepMs, stoppedBy, type StepPlace } from "./step.ts";
import { within } from "./within.ts";

const defaultMaxOutput = 4_096;
const defaultMinOutput = 16;
const longestRetryAfterMs = 60_000;
const defaultTimeoutS = 600;

/** One attempt that was made, for the bill and the stream. */
export interface Charge {
  readonly attempt: AttemptId;
  readonly model: string;
  /** Null: nobody knows. */
  readonly usage: Usage | null;
  readonly ms: number;
  readonly error?: ErrorData | undefined;
  /** It was made again after so long. */
  readonly retryInMs?: number | undefined;
}

/** Why a step's closure ends without an answer and without a failure. */
export type Stop =
  | { readonly kind: "paused" }
  /** Its run had to yield: to be made again. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** To be made again, but not soon. */
  | { readonly kind: "later"; readonly at: number; readonly retries: number };

/** The model calls of one execution of one step: each through the gate, each on the bill. */
export class ModelCalls {
  readonly charges: Charge[] = [];
  /** The number of the last report that the tree has booked. */
  reported = 0;
  /** Set once the step has to end. Whoever catches what is thrown then changes nothing. */
  stop: Stop | null = null;
  readonly #host: ModelHost;
  readonly #place: StepPlace;
  readonly #io: StepIo;
  #retries: number;

  constructor(host: ModelHost, place: StepPlace, io: StepIo, retries: number) {
    this.#host = host;
    this.#place = place;
    this.#io = io;
    this.#retries = retries;
  }

  /** Calls until it is answered, refused, or fails for good. */
  async make(model: Model, messages: readonly ChatMessage[], options: LlmOptions): Promise<ModelResponse> {
    const { maxRetries = 3, baseMs = 2_000 }: ModelRetry = this.#host.policy.retry ?? {};
    for (;;) {
      try {
        return await this.#attempt(model, messages, options);
      } catch (error) {
        const mayPass = ReeveError.is(error) && error.retryable && this.stop === null;
        if (!mayPass || this.#retries >= maxRetries) throw error;
        this.#retries += 1;
        await this.#pause(delayOf(error, baseMs * 2 ** (this.#retries - 1), this.#attemptId()));
      }
    }
  }

  async #attempt(
    model: Model,
    messages: readonly ChatMessage[],
    options: LlmOptions,
  ): Promise<ModelResponse> {
    const { primitives, clock, observer } = this.#host;
    const attempt = this.#attemptId();
    const gate = await this.#pass(attempt, model, messages, options);
    const began = primitives.now();
    observer.seen("model.start", { model: model.id }, attempt);
    const request: ModelRequest = {
      messages,
      tools: options.tools ?? [],
      maxOutputTokens: gate.outputTokens,
      ...(options.providerOptions && { options: options.providerOptions }),
    };
    const { signal } = this.#io;
    const onDelta = this.#host.onDelta(attempt);
    try {
      const response = await within(clock, { ms: defaultTimeoutS * 1000, signal, late: tooLate }, (inner) =>
        model.generate(request, { signal: inner, onDelta }),
      );
      this.#charge({ attempt, model: model.id, usage: response.usage, ms: primitives.now() - began });
      return gate.shrunk ? { ...response, shrunk: true } : response;
    } catch (error) {
      throw this.#failed(error, attempt, model, primitives.now() - began);
    }
  }

  #failed(error: unknown, attempt: AttemptId, model: Model, ms: number): unknown {
    const stopped = stoppedBy(this.#io.signal);
    if (stopped) this.stop ??= stopped.code === "preempted" ? { kind: "interrupted" } : cancelled(stopped);
    const usage = error instanceof ModelError && error.unbilled ? Usage.none : null;
    this.#charge({ attempt, model: model.id, usage, ms, error: encodeError(stopped ?? error) });
    return stopped ?? error;
  }

  #charge(charge: Charge): void {
    this.charges.push(charge);
    const { model, usage, ms, error, attempt } = charge;
    const payload = { model, usage: usage ?? Usage.none, durationMs: ms, ...(error && { error }) };
    this.#host.observer.seen("model.end", payload, attempt);
  }

  /** Asks the gate. What it refuses ends the step. */
  async #pass(
    attempt: AttemptId,
    model: Model,
    messages: readonly ChatMessage[],
    options: LlmOptions,
  ): Promise<Extract<Gate, { kind: "granted" }>> {
    const { primitives, driver } = this.#host;
    const { launch, epoch } = primitives;
    const begin = {
      run: launch.runId,
      step: this.#place.id,
      attempt,
      epoch,
      ask: askOf(this.#host, model, messages, options),
      rerun: false,
      subject: model.id,
      reports: driver.outbox.unsent,
      previous: this.charges.map(({ attempt: made, usage }) => ({
        step: this.#place.id,
        attempt: made,
        usage,
      })),
      at: primitives.now(),
    };
    const { gate, reported } = Json.as<ReplyOf<"begin">>(
      await this.#io.call(launch.tree, "begin", Json.of(begin)),
    );
    this.reported = reported;
    if (gate.kind === "granted") {
      // Attempts that died with their worker count: a crash gives no new retries.
      this.#retries = Math.max(this.#retries, gate.attempts - 1);
      return gate;
    }
    throw this.#refusal(gate);
  }

  #refusal(gate: Exclude<Gate, { kind: "granted" }>): Error {
    if (gate.kind === "denied") return new BudgetExhaustedError(gate);
    if (gate.kind !== "refused") return new Error(`the gate answered a model call with ${gate.kind}`);
    this.stop = refused(gate);
    return new Error(`the gate refused: ${gate.why}`);
  }

  async #pause(delayMs: number): Promise<void> {
    const { clock } = this.#host;
    const last = this.charges.pop();
    if (last) this.charges.push({ ...last, retryInMs: delayMs });
    if (delayMs > longestWaitInStepMs) {
      this.stop = { kind: "later", at: clock.now() + delayMs, retries: this.#retries };
      throw new Error("to be made again later");
    }
    await clock.waitUntil(clock.now() + delayMs, this.#io.signal).catch((error: unknown) => {
      const stopped = stoppedBy(this.#io.signal);
      if (stopped) this.stop ??= stopped.code === "preempted" ? { kind: "interrupted" } : cancelled(stopped);
      throw error;
    });
  }

  #attemptId(): AttemptId {
    const { length } = this.charges;
    return AttemptId.of(length === 0 ? this.#io.attempt : `${this.#io.attempt}.${length}`);
  }
}

function askOf(host: ModelHost, model: Model, messages: readonly ChatMessage[], options: LlmOptions): Wish {
  const outputTokens = options.maxOutputTokens ?? model.maxOutputTokens ?? defaultMaxOutput;
  const bound = inputBound(messages, options.tools, { reported: host.reported.get(model.id) });
  const unbounded = options.unbounded === "allow" ? estimateTokens(messages, options.tools) : null;
  return {
    inputTokens: Number.isFinite(bound) ? bound : unbounded,
    outputTokens,
    minOutputTokens: Math.min(options.minOutputTokens ?? defaultMinOutput, outputTokens),
    price: host.prices[model.id] ?? model.price ?? null,
    unpriced: options.unpriced ?? "refuse",
    landing: options.landing ?? false,
  };
}

const tooLate = (): Error =>
  new ModelError({ kind: "timeout", message: `no answer after ${defaultTimeoutS} s` });

/** What the provider asked for, up to a minute; else the schedule, 20 % more or less so that a fleet spreads out. */
function delayOf(error: ReeveError, scheduledMs: number, seed: string): number {
  const asked = "retryAfterMs" in error && typeof error.retryAfterMs === "number" ? error.retryAfterMs : 0;
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
