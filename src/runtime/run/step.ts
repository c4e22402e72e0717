import {
  CancellationError,
  decodeError,
  encodeError,
  Json,
  PreemptedError,
  ReeveError,
  ReplayDivergenceError,
  StepId,
  type Clock,
  type ErrorData,
  type Primitives,
  type RunScope,
  type StepCall,
  type StepIo,
  type StepRetry,
} from "#kernel";
import { fingerprint } from "#agents";
import type { Driver } from "../driver/driver.ts";
import { inStep } from "./ambient.ts";

/** Delays up to this are waited inside a step, longer ones durably between two. */
export const longestWaitInStepMs = 5_000;
const longestAskedMs = 60_000;

/** What every step needs of its run. */
export interface StepHost {
  readonly primitives: Primitives;
  readonly driver: Driver;
  readonly clock: Clock;
  readonly scope: RunScope;
}

/** What the journal keeps of a step, besides what its kind adds. */
export interface StepRecord {
  /** When it ended. */
  readonly t: number;
  /** Of what it was asked. */
  readonly f: string;
}

/** A step's place and name. */
export interface StepPlace {
  readonly id: StepId;
  readonly name: string;
  readonly print: string;
}

/** Gives the next step its place. `subject` is what it depends on. */
export function placeStep(host: StepHost, kind: string, subject: string): StepPlace {
  const { launch } = host.primitives;
  const { name, number } = host.driver.nameStep(kind);
  const place = launch.continuation === 0 ? kind : `${kind}@${launch.continuation}`;
  return { id: StepId.of(launch.runId, place, number), name, print: fingerprint(subject) };
}

/** Runs a closure as a step of the journal, and holds its record against what is asked now. */
export async function journaled<Result extends object>(
  host: StepHost,
  place: StepPlace,
  run: (io: StepIo) => Promise<Result>,
): Promise<Result & StepRecord> {
  const { driver, primitives, scope } = host;
  const record = Json.as<Result & StepRecord>(
    await driver.step(place.name, async (io) => {
      const result = await inStep(scope, place.name, () => run(io));
      return Json.of({ ...result, t: primitives.now(), f: place.print });
    }),
  );
  if (record.f !== place.print) return driver.diverge(new ReplayDivergenceError({ step: place.name }));
  driver.learnTime(record.t);
  return record;
}

type Try =
  | { readonly value: Json }
  | { readonly error: ErrorData }
  /** Its run had to yield: to be made again. */
  | { readonly interrupted: true }
  | { readonly retryAt: number; readonly retries: number };

/** A step of agent code: retried while its error may pass, recorded when it has ended. */
export async function userStep(
  host: StepHost,
  name: string,
  run: (call: StepCall) => unknown,
  options: { readonly input?: Json; readonly retry?: StepRetry },
): Promise<Json> {
  const place = placeStep(host, name, `${name}/${JSON.stringify(options.input ?? null)}`);
  const call = (signal: AbortSignal): StepCall => ({ signal, idempotencyKey: place.id });
  let retries = 0;
  for (;;) {
    const used = retries;
    const record = await journaled(host, place, (io) =>
      tries(host, io, { ...options.retry, used }, async () => run(call(io.signal))),
    );
    if ("value" in record) return record.value;
    if ("error" in record) throw decodeError(record.error);
    if ("retryAt" in record) {
      retries = record.retries;
      await host.driver.waits.first([], { at: record.retryAt });
    }
  }
}

/** Tries until it succeeds, fails for good, or has to wait for long. */
async function tries(
  { clock }: StepHost,
  io: StepIo,
  { maxRetries = 3, baseMs = 2_000, used }: StepRetry & { readonly used: number },
  run: () => Promise<unknown>,
): Promise<Try> {
  for (let retries = used; ; retries++) {
    try {
      return { value: Json.of((await run()) ?? null) };
    } catch (error) {
      const stopped = stopOf(io.signal);
      if (stopped) return stopped;
      if (retries >= maxRetries || !(ReeveError.is(error) && error.retryable))
        return { error: encodeError(error) };
      const delayMs = askedDelayMs(error) ?? baseMs * 2 ** retries;
      if (delayMs > longestWaitInStepMs) return { retryAt: clock.now() + delayMs, retries: retries + 1 };
      await clock.waitUntil(clock.now() + delayMs, io.signal).catch(() => undefined);
      const stoppedMeanwhile = stopOf(io.signal);
      if (stoppedMeanwhile) return stoppedMeanwhile;
    }
  }
}

/** How a closure that was told to stop ends; null if it was not told. */
function stopOf(signal: AbortSignal): Try | null {
  const stopped = stoppedBy(signal);
  if (stopped === null) return null;
  return stopped instanceof PreemptedError ? { interrupted: true } : { error: stopped.toJSON() };
}

/** How long the other side wants to be left alone, where it said so: at most a minute is granted. */
function askedDelayMs(error: ReeveError): number | null {
  const asked = "retryAfterMs" in error ? error.retryAfterMs : null;
  return typeof asked === "number" ? Math.min(asked, longestAskedMs) : null;
}

/** Why a closure was told to stop; null if it was not. */
export function stoppedBy(signal: AbortSignal): ReeveError | null {
  if (!signal.aborted) return null;
  return ReeveError.is(signal.reason)
    ? signal.reason
    : new CancellationError({ reason: String(signal.reason) });
}
