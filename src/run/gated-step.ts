// A gated step: a journaled step whose closure may make model calls and check guardrails.
//
// Job: run a closure as a step of the journal, book its charges and its guardrail decisions, and repeat it until it has
// a result. Neighbours: its callers (model-step, tool-step, authorize-tool, guardrail-step) define only the closure and
// the meaning of its result; it uses step (the journal), model-calls (the gate) and guardrails.
//
// Invariants:
// 1. A step keeps its position. Each execution of it has the same name, the same number and the same subject.
// 2. A record holds the charges of its own execution. Each execution is settled once, before its record is used: a
//    discarded result was still paid for.
// 3. The outbox is filled in the order of the journal: settlements, guardrail trips, extension errors, the caller's
//    events.
// 4. Only the closure has side effects. Everything after it reads the record, so a replay repeats it.
// 5. Nothing is awaited between the call of `run` and the journal: concurrent calls keep the order of the code.
// 6. Only steps of a model stop as `later` or `budget`; their retries are carried into the next execution.
import { createHmac, randomUUID } from "node:crypto";
import { Usage, type Model, type Secret, type StepScope, type TenantId } from "#kernel";
import { TreeSecret, type GuardHook } from "#tree";
import { embedTexts } from "./embed-texts.ts";
import { applyLog, ExtensionCalls, type ExtensionLog } from "./extension-calls.ts";
import type { GuardrailLog, GuardrailResult, GuardrailSubject } from "./guardrails.ts";
import { holdIfDisabled } from "./held-step.ts";
import { ModelCalls, type CallsOwner, type AttemptRecord } from "./model-calls.ts";
import type { Stop } from "./step-stop.ts";
import type { RunServices } from "./run-services.ts";
import { runJournaled, placeStep, type RunningStep, type StepRef, type StepRecord } from "./step.ts";

/** One execution of a gated step: the argument of its closure. */
export interface StepExecution extends RunningStep {
  readonly calls: ModelCalls;
  readonly extensions: ExtensionCalls;
}

/** The logs that a closure returns with its result or stop. */
interface StepLogs {
  /** The log of the step's first hook. */
  readonly heard?: GuardrailLog | undefined;
  /** The log of `afterCall`. */
  readonly after?: GuardrailLog | undefined;
}

/** The result of a closure. Its kind differs from every kind of `Stop`. */
export interface StepResult extends StepLogs {
  readonly kind: string;
}

/** A closure's end without a result: the step is repeated, or its run ends. */
export type StepStop = Stop & StepLogs;

interface Bill {
  readonly charges: readonly AttemptRecord[];
  readonly reported: number;
  /** The effects of extension handlers. */
  readonly extensions?: ExtensionLog | undefined;
}

interface GatedStepOptions {
  /** The kind of the step in the journal. */
  readonly kind: string;
  /** The data that the step depends on. */
  readonly subject: string;
  /** Whether the step is a model call, or makes model calls for something else. */
  readonly of: CallsOwner["of"];
  /** The hook whose log the closure returns as `heard`. */
  readonly hook?: GuardHook;
}

/** A step at its position in the journal. A repeated step stays the same step. */
export class GatedStep {
  readonly place: StepRef;
  readonly #services: RunServices;
  readonly #options: GatedStepOptions;
  #executions = 0;
  #retries = 0;
  #waitsSince: number | null = null;

  /** @throws TooManyStepsError */
  constructor(services: RunServices, options: GatedStepOptions) {
    this.#services = services;
    this.#options = options;
    this.place = placeStep(services.engine, options.kind, options.subject);
  }

  /** The number of executions so far: the same on every replay. */
  get executions(): number {
    return this.#executions;
  }

  /**
   * Executes the closure until it has a result. Null from the closure: it had to stop, for the reason that its calls
   * hold. @throws CancellationError when the run is cancelled.
   */
  async run<Result extends StepResult>(
    body: (execution: StepExecution) => Promise<Result | StepStop | null>,
  ): Promise<Result & StepRecord> {
    for (;;) {
      const record = await this.#execute(body);
      this.#book(record);
      if (!isStop(record)) return record;
      await this.#wait(record);
    }
  }

  async #execute<Result extends StepResult>(
    body: (execution: StepExecution) => Promise<Result | StepStop | null>,
  ): Promise<(Result | StepStop) & Bill & StepRecord> {
    const { place } = this;
    const owner = { of: this.#options.of, used: this.#retries, waitsSince: this.#waitsSince };
    this.#executions += 1;
    const { steps } = this.#services.state;
    const mayAppend = this.#options.of !== "compaction";
    let isExecuted = false;
    const record = await runJournaled(
      this.#services,
      place,
      async (io): Promise<(Result | StepStop) & Bill> => {
        isExecuted = true;
        const held = holdIfDisabled(this.#services, io);
        if (held && (await held)) return { kind: "paused", charges: [], reported: 0 };
        const noted = steps.writeNoted();
        const calls = new ModelCalls(this.#services, { place, io }, owner);
        const extensions = new ExtensionCalls(this.#services, { place, io }, { mayAppend });
        const result = (await body({ place, io, calls, extensions })) ?? calls.stop ?? interrupted;
        const { charges, reported } = calls;
        const { log } = extensions;
        await noted;
        return { ...result, charges, reported, ...(log && { extensions: log }) };
      },
    );
    if (!isExecuted) steps.dropNoted();
    return record;
  }

  #book(record: StepResult & Bill & StepRecord): void {
    const { hook } = this.#options;
    this.#services.engine.driver.outbox.acknowledge(record.reported);
    this.#settle(record);
    if (hook) this.#keepLog(hook, record.heard);
    this.#keepLog("afterCall", record.after);
    if (record.extensions) applyLog(this.#services, record.extensions);
  }

  /** Reports every attempt of a record: charges first, then the events of the stream. */
  #settle({ kind, charges, t }: StepResult & Bill & StepRecord): void {
    const { outbox } = this.#services.engine.driver;
    for (const { attempt, model, usage, ms, error, retry, again } of charges) {
      const follows = again !== undefined || (kind === "interrupted" && error !== undefined);
      outbox.settle({ attempt, usage, ...(follows && { again: true }) });
      const payload = { model, usage: usage ?? Usage.none, durationMs: ms, ...(error && { error }) };
      outbox.event("model.end", t, attempt, payload);
      if (retry > 0) outbox.event("retry.end", t, attempt, { retry, success: !error });
      if (again && error) outbox.event("retry.start", t, attempt, { ...again, error });
    }
  }

  /** Reports the trips of guardrails, and keeps their notes for the turn. */
  #keepLog(hook: GuardHook, log: GuardrailLog | undefined): void {
    if (!log) return;
    this.#services.policy.guardrails.learn(`${this.place.id}/${hook}`, log);
    const { outbox, time } = this.#services.engine.driver;
    for (const trip of log.trips) outbox.event("guardrail.trip", time, null, trip);
  }

  /** Waits until the step can be executed again. @throws CancellationError */
  async #wait(stop: Stop): Promise<void> {
    const { driver } = this.#services.engine;
    switch (stop.kind) {
      case "cancelled":
        return driver.acceptStop(stop.reason);
      case "later":
        this.#retries = stop.retries;
        await driver.waits.first([], { at: stop.at });
        break;
      case "budget":
        this.#retries = stop.retries;
        this.#waitsSince = stop.since;
        await driver.waits.first([`budget/${stop.step}`]);
        break;
      case "paused":
      case "interrupted":
        await driver.refresh();
    }
  }
}

const interrupted: Stop = { kind: "interrupted" };

const stopKinds: ReadonlySet<string> = new Set<Stop["kind"]>([
  "paused",
  "interrupted",
  "cancelled",
  "later",
  "budget",
]);

function isStop(record: StepResult | StepStop): record is StepStop {
  return stopKinds.has(record.kind);
}

/** Runs the guardrails inside a step. Null: the step must end. */
export function checkGuardrails(
  services: RunServices,
  execution: StepExecution,
  subject: GuardrailSubject,
): Promise<GuardrailResult | null> {
  const { engine, identity, policy } = services;
  const { place, calls } = execution;
  return policy.guardrails.check({
    ...subject,
    key: `${place.id}/${subject.hook}`,
    clock: engine.clock,
    report: engine.report,
    agentId: identity.agentId,
    runId: identity.scope.runId,
    scope: toStepScope(services, execution, policy.model),
    nonce: randomUUID().replaceAll("-", ""),
    mustStop: () => calls.mustStop(),
  });
}

/** Returns the scope of a middleware layer or a guardrail inside a step. */
export function toStepScope(
  { engine, identity, state }: RunServices,
  { io, calls, extensions }: StepExecution,
  model: Model | undefined,
): StepScope {
  const { tenantId, userId } = identity.scope;
  return {
    signal: io.signal,
    clock: engine.clock,
    tenantId,
    userId,
    version: identity.agentVersion,
    keepS: state.cache.keepS,
    cache: state.cache.answers,
    get retries() {
      return calls.retries;
    },
    // The text of a judge or a summarizer is not part of the answer.
    llm: (messages, options = {}) =>
      calls.make({ model: requireModel(options.model ?? model), messages, options, isWatched: false }),
    embed: (embedder, texts) => embedTexts(calls, embedder, texts),
    wait: (ms) => calls.wait(ms),
    waitForRetry: (error, schedule) => calls.waitForRetry(error, schedule),
    intercept: (extension, call) => extensions.call(extension, call),
    note: (by, decision) => {
      if (calls.notes.length < maxNotes) calls.notes.push({ by, layer: "middleware", decision });
    },
    keyedHash: (text, key) =>
      key ? hashForTenant(key, tenantId, text) : TreeSecret.keyedHash(identity.secret, text),
  };
}

/** Maximum number of middleware decisions recorded for one call. */
const maxNotes = 20;

/** Returns a keyed hash for a tenant. The id of a tenant has no slash, so hashes of two tenants differ. */
const hashForTenant = (key: Secret, tenantId: TenantId | null, text: string): string =>
  createHmac("sha256", key.reveal())
    .update(`${tenantId ?? ""}/${text}`)
    .digest("base64url");

function requireModel(model: Model | undefined): Model {
  if (!model) throw new TypeError("this agent has no model: set agent({ model })");
  return model;
}
