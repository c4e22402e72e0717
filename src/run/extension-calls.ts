// The calls of extensions.
//
// Job: call the handlers of extensions for a run, isolated, and keep their effects for the record of the step.
// Neighbours: gated-step creates one instance for each execution of a step, and applies its log; interceptions calls
// the handlers of moments; extension-context is the argument of handlers.
//
// Invariants:
// 1. A handler that throws or times out is skipped. It never fails the step, and never allows anything.
// 2. A handler inside a step changes the run only through the step's record: a replay does the same without calling it.
// 3. A run calls only the extensions of its launch.
import {
  ReeveError,
  type Clock,
  type ErrorData,
  type ExtensionContext,
  type ExtensionEntry,
  type ExtensionProblem,
} from "#kernel";
import { withTimeout } from "#base";
import { createExtensionContext } from "./extension-context.ts";
import type { RunServices } from "./run-services.ts";
import type { RunningStep } from "./step.ts";

/** Timeout of a handler. */
const timeoutMs = 30_000;

/** A handler that failed. */
export interface ExtensionFailure {
  readonly extension: string;
  readonly error: ErrorData;
}

/** The effects of handlers in one step. */
export interface ExtensionLog {
  readonly errors?: readonly ExtensionFailure[] | undefined;
  /** Entries for the turn. */
  readonly entries?: readonly ExtensionEntry[] | undefined;
  readonly asksCompaction?: true | undefined;
}

/** The calls of extensions in one execution of a step. */
export class ExtensionCalls {
  readonly #services: RunServices;
  readonly #step: RunningStep;
  readonly #errors: ExtensionFailure[] = [];
  readonly #entries: ExtensionEntry[] = [];
  #asksCompaction = false;

  readonly #mayAppend: boolean;

  constructor(
    services: RunServices,
    step: RunningStep,
    { mayAppend }: { /** Whether handlers may add entries to the turn. */ readonly mayAppend: boolean },
  ) {
    this.#services = services;
    this.#step = step;
    this.#mayAppend = mayAppend;
  }

  /** Undefined: the handlers had no effects. */
  get log(): ExtensionLog | undefined {
    const [errors, entries] = [this.#errors, this.#entries];
    if (errors.length + entries.length === 0 && !this.#asksCompaction) return undefined;
    return {
      ...(errors.length > 0 && { errors }),
      ...(entries.length > 0 && { entries }),
      ...(this.#asksCompaction && { asksCompaction: true }),
    };
  }

  /** Calls a handler. Undefined: it was skipped. */
  async call<T>(
    extension: string,
    call: (context: ExtensionContext) => T | Promise<T>,
  ): Promise<T | undefined> {
    const services = this.#services;
    const { engine, policy } = services;
    const { io } = this.#step;
    if (!policy.launch.interceptors?.includes(extension)) return undefined;
    const inStep = {
      append: this.#mayAppend ? (entry: ExtensionEntry) => void this.#entries.push(entry) : null,
      compact: () => {
        this.#asksCompaction = true;
      },
    };
    try {
      return await callLimited({ clock: engine.clock, signal: io.signal }, (signal) =>
        call(createExtensionContext(services, { signal, inStep })),
      );
    } catch (error) {
      if (!io.signal.aborted) this.#errors.push(reportFailure(services, extension, error));
      return undefined;
    }
  }
}

/** Calls a handler with a timeout. @throws its error, or a timeout error. */
export function callLimited<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
  call: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const onTimeout = (): never => {
    throw new Error(`it took longer than ${timeoutMs / 1000} s`);
  };
  const limit = { clock, ms: timeoutMs, onTimeout, ...(signal && { signal }) };
  return withTimeout<T>(limit, async (limited) => call(limited.signal));
}

/** Logs the failure of a handler, and adds it to the list of the process. */
export function reportFailure(
  { engine, identity, policy }: RunServices,
  extension: string,
  error: unknown,
): ExtensionFailure {
  const { name: kind, message } = engine.report(`extension ${extension}`, error);
  const code = ReeveError.is(error) ? error.code : "foreign";
  const failure = { extension, error: { code, kind, message } };
  policy.extensions.noteFailure({ ...failure, agentId: identity.agentId });
  return failure;
}

/** Applies the effects of handlers from the record of a step: the same on every replay. */
export function applyLog({ engine: { driver }, state }: RunServices, log: ExtensionLog): void {
  const { errors = [], entries = [], asksCompaction } = log;
  for (const failure of errors) driver.outbox.event("extension.error", driver.time, null, failure);
  for (const entry of entries) state.session.appendEntry(entry, state.labels.told);
  if (asksCompaction) state.session.askForCompaction();
}

/** Reports the extension parts that were left out, when a run begins. */
export function reportProblems(
  { engine: { driver, primitives } }: RunServices,
  problems: readonly ExtensionProblem[],
): void {
  if (primitives.launch.continuation > 0) return;
  for (const { extension, message } of problems)
    driver.outbox.event("extension.error", driver.time, null, {
      extension,
      error: { code: "invalid-program", message },
    });
}
