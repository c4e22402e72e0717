import { AsyncLocalStorage } from "node:async_hooks";
import {
  CancellationError,
  checkDuration,
  decodeError,
  encodeError,
  findJsonProblem,
  Json,
  NestedStepError,
  PreemptedError,
  ReeveError,
  ReplayDivergenceError,
  StepId,
  UnencodableError,
  type AgentId,
  type AttemptId,
  type Clock,
  type Diagnostic,
  type ErrorData,
  type ExecutionPrimitives,
  type RunMeta,
  type RunScope,
  type StepCall,
  type StepIo,
  type StepRetry,
  type SupersededError,
  type Supervision,
} from "#kernel";
import { backoffMs, fingerprint } from "#base";
import type { AnswerFeed, UpdateFeed } from "#deltas";
import { TreeSecret } from "#tree";
import type { Driver } from "./driver/driver.ts";
import type { SwitchCache } from "./switch-cache.ts";
import { withDiagnostic, type ReportFailure } from "./failures.ts";
import { holdIfDisabled } from "./held-step.ts";

/** Maximum delay that is waited inside a step. Longer ones are waited durably between two steps. */
export const maxWaitInStepMs = 5_000;
const maxRetryAfterMs = 60_000;

const stepName = /^[\w.-]{1,40}$/;

/** The engine part of a run's services: operations, time, live text. */
export interface EngineServices {
  readonly primitives: ExecutionPrimitives;
  readonly driver: Driver;
  readonly clock: Clock;
  readonly report: ReportFailure;
  /** The switches that this process knows. */
  readonly switches: SwitchCache;
  /** Opens the feed for the pieces of an answer. Undefined if it has no subscriber and can get none. */
  readonly openFeed: (step: StepId, attempt: AttemptId) => AnswerFeed | undefined;
  /** Opens the feed for the progress of a tool call. */
  readonly openUpdates: (step: StepId, attempt: AttemptId) => UpdateFeed;
}

/** The identity part of a run's services: the run, its agent, and the tenant and user it works for. */
export interface RunIdentity {
  readonly scope: RunScope;
  readonly agentId: AgentId;
  readonly agentVersion: string;
  readonly traceId: string;
  /** The secret of the run's tree. */
  readonly secret: TreeSecret;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
}

/** The two parts of a run's services that every step needs. */
export interface StepServices {
  readonly engine: EngineServices;
  readonly identity: RunIdentity;
}

/** The fields that the record of every step has in the journal. */
export interface StepRecord {
  /** The time at which the step ended. */
  readonly t: number;
  /** The fingerprint of the step's subject. */
  readonly f: string;
}

/** A step's position and name. */
export interface StepRef {
  readonly id: StepId;
  readonly name: string;
  readonly print: string;
}

/** Gives the next step its position. A replay that reaches this position with another subject has diverged. */
export function placeStep(
  { primitives: { launch }, driver }: EngineServices,
  kind: string,
  subject: string,
): StepRef {
  const { name, number } = driver.steps.next(kind);
  const place = launch.continuation === 0 ? kind : `${kind}@${launch.continuation}`;
  return { id: StepId.of(launch.runId, place, number), name, print: fingerprint(subject) };
}

/** The input and output of a journaled step's closure. */
export interface JournaledIo extends StepIo {
  /** Ends the step without a result, even if layers catch errors. Never resolves. */
  giveUp(error: SupersededError): Promise<never>;
}

/** A step whose closure is running. */
export interface RunningStep {
  readonly place: StepRef;
  readonly io: JournaledIo;
}

/** Runs a closure as a step of the journal, and compares its record with the present request. */
export async function runJournaled<Result extends object>(
  { engine: { driver, primitives }, identity: { scope } }: StepServices,
  place: StepRef,
  run: (io: JournaledIo) => Promise<Result>,
): Promise<Result & StepRecord> {
  const record = Json.as<Result & StepRecord>(
    await driver.step(place.name, async (io) => {
      const { promise: givenUp, reject } = Promise.withResolvers<never>();
      const giveUp = (error: SupersededError): Promise<never> => {
        reject(error);
        return new Promise(() => undefined);
      };
      const journaledIo: JournaledIo = {
        attempt: io.attempt,
        call: io.call,
        giveUp,
        get signal() {
          return io.signal;
        },
        get epoch() {
          return io.epoch;
        },
      };
      const result = await Promise.race([inStep(scope, place.name, () => run(journaledIo)), givenUp]);
      return Json.of({ ...result, t: primitives.now(), f: place.print });
    }),
  );
  if (record.f !== place.print) return driver.diverge(new ReplayDivergenceError({ step: place.name }));
  driver.learnWorkerTime(record.t);
  return record;
}

type StepTry =
  | { readonly value: Json }
  | { readonly error: ErrorData; readonly diagnostic?: Diagnostic | undefined }
  /** The run had to yield. The step is repeated. */
  | { readonly interrupted: true }
  /** The run is held, because its tenant or agent is disabled. The step is repeated. */
  | { readonly paused: true }
  | { readonly retryAt: number; readonly retries: number };

/** A step of agent code. */
interface UserStep {
  readonly name: string;
  readonly run: (call: StepCall) => unknown;
  /** The data that the step depends on. Default: none. */
  readonly input?: Json;
  readonly retry?: StepRetry;
}

/** Runs a step of agent code: retries transient errors, and records its end. */
export async function userStep(
  services: StepServices,
  { name, run, input = null, retry }: UserStep,
): Promise<Json> {
  if (!stepName.test(name))
    throw new TypeError(
      `invalid step name ${JSON.stringify(name.slice(0, 60))}: use 1 to 40 letters, digits, dots, dashes and underscores. Names are stored in plain text, so put what varies into { input }`,
    );
  checkDuration("baseMs", retry?.baseMs ?? 0);
  const { engine, identity } = services;
  const place = placeStep(engine, name, `${name}/${JSON.stringify(input)}`);
  const call = (signal: AbortSignal): StepCall => ({
    signal,
    get idempotencyKey() {
      return TreeSecret.idempotencyKey(identity.secret, place.id);
    },
  });
  let retries = 0;
  for (;;) {
    const used = retries;
    const record = await runJournaled(services, place, async (io) => {
      const held = holdIfDisabled(services, io);
      if (held && (await held)) return { paused: true as const };
      const runOnce = async (): Promise<Json> => encodable(name, await run(call(io.signal)));
      const report = (error: unknown): Diagnostic => engine.report(`step ${name}`, error);
      return runWithRetries(engine.clock, io, { ...retry, used, runOnce, report });
    });
    if ("value" in record) return record.value;
    if ("error" in record) throw withDiagnostic(decodeError(record.error), record.diagnostic);
    if ("paused" in record) await engine.driver.refresh();
    if ("retryAt" in record) {
      retries = record.retries;
      await engine.driver.waits.first([], { at: record.retryAt });
    }
  }
}

/** Runs a closure until it succeeds, fails permanently, or needs a long wait. */
async function runWithRetries(
  clock: Clock,
  io: StepIo,
  {
    maxRetries = 3,
    baseMs = 2_000,
    used,
    runOnce,
    report,
  }: StepRetry & {
    readonly used: number;
    readonly runOnce: () => Promise<Json>;
    readonly report: (error: unknown) => Diagnostic;
  },
): Promise<StepTry> {
  for (let retries = used; ; retries++) {
    try {
      return { value: await runOnce() };
    } catch (error) {
      const stopped = toTry(io.signal);
      if (stopped) return stopped;
      if (retries >= maxRetries || !(ReeveError.is(error) && error.retryable))
        return { error: encodeError(error), diagnostic: report(error) };
      const delayMs = getRetryAfterMs(error) ?? backoffMs(retries, { firstMs: baseMs });
      if (delayMs > maxWaitInStepMs) return { retryAt: clock.now() + delayMs, retries: retries + 1 };
      await clock.waitUntil(clock.now() + delayMs, io.signal).catch(() => undefined);
      const stoppedInWait = toTry(io.signal);
      if (stoppedInWait) return stoppedInWait;
    }
  }
}

/** Returns the value as JSON. @throws UnencodableError */
function encodable(step: string, value: unknown): Json {
  const problem = findJsonProblem(value);
  if (problem !== null)
    throw new UnencodableError({ what: `the result of step ${step}`, problem: `it${problem}` });
  return Json.of(value ?? null);
}

/** Returns the end of a try that was asked to stop. Null if it was not. */
function toTry(signal: AbortSignal): StepTry | null {
  const stopped = getStopError(signal);
  if (stopped === null) return null;
  return stopped instanceof PreemptedError ? { interrupted: true } : { error: stopped.toJSON() };
}

/** Returns the requested delay of the other side, at most a minute. Null if none. */
function getRetryAfterMs(error: ReeveError): number | null {
  const delayMs = "retryAfterMs" in error ? error.retryAfterMs : null;
  return typeof delayMs === "number" && delayMs >= 0 ? Math.min(delayMs, maxRetryAfterMs) : null;
}

/** Returns the reason why a closure must stop. Null if it need not. */
export function getStopError(signal: AbortSignal): ReeveError | null {
  if (!signal.aborted) return null;
  return ReeveError.is(signal.reason)
    ? signal.reason
    : new CancellationError({ reason: String(signal.reason) });
}

interface Ambient {
  readonly scope: RunScope;
  /** The step whose closure runs. Null in agent code. */
  readonly step: string | null;
}

const storage = new AsyncLocalStorage<Ambient>();

/** Returns the scope of the run that the caller works for. Null outside a run. */
export function currentScope(): RunScope | null {
  return storage.getStore()?.scope ?? null;
}

/** Runs agent code. */
export function inRun<T>(scope: RunScope, body: () => T): T {
  return storage.run({ scope, step: null }, body);
}

/** Runs the closure of a step. */
function inStep<T>(scope: RunScope, step: string, body: () => T): T {
  return storage.run({ scope, step }, body);
}

/** Checks that the caller is not inside a step. @throws NestedStepError */
export function refuseInStep(): void {
  const step = storage.getStore()?.step;
  if (step) throw new NestedStepError({ step });
}
