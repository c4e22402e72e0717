import { randomUUID } from "node:crypto";
import type { Clock, Engine, Epoch, EngineProgram, Json, RunLaunch } from "#kernel";
import { systemClock } from "#base";
import { macrotask, microtask, tick } from "./schedule.ts";
import { LocalObjects } from "./local-objects.ts";
import { LocalSinks } from "./local-sinks.ts";
import { Timers } from "./timers.ts";
import { LocalRun, type RunDeps } from "./local-run.ts";

/** Options of the local engine. */
export interface LocalOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /**
   * Whether every execution is discarded after each operation and replayed, to find code that cannot be. Default:
   * false.
   */
  readonly replayEveryStep?: boolean;
  /**
   * Calls back once every microtask has run and it is this callback's turn. It decides the order in which calls arrive
   * and executions continue. Default: the order of the requests.
   */
  readonly schedule?: (then: () => void) => void;
}

/**
 * Creates an engine that runs in this process. Nothing survives the process: for tests, scripts and first steps. It
 * keeps the last 1,000 finished trees.
 */
export function local(settings: LocalOptions = {}): Engine {
  const { clock = systemClock, replayEveryStep = false, schedule: given } = settings;
  const schedule = given ?? (replayEveryStep ? macrotask : tick());
  // Without a given order, a call of a run takes no longer than any other promise.
  const scheduleCall = given ?? (replayEveryStep ? macrotask : microtask());
  const runs = new Map<string, LocalRun>();
  const closed = new AbortController();
  const timers = new Timers(clock);
  let program: EngineProgram | null = null;
  const last = { execution: 0, epoch: 0, attempt: 0 };
  /** Distinguishes this engine's executions from those of any other engine. */
  const engine = randomUUID();

  const sinks = new LocalSinks(clock, closed.signal);
  const objects = new LocalObjects(
    {
      launch: (run) => launch(run),
      wake: (execution, name, value) => runs.get(execution)?.wake(name, value),
      cancel: (execution) => runs.get(execution)?.cancel(),
      kill: (execution) => dropRun(runs, execution),
      later: (delayMs, act, bestEffort) => timers.callAfter(delayMs, act, bestEffort),
      now: () => clock.now(),
      schedule,
    },
    sinks,
  );
  const epoch = (): Epoch => ({ id: `${engine}/${++last.epoch}`, order: last.epoch });
  const attempt = (): string => `${engine}-${++last.attempt}`;
  const host: RunDeps = { clock, objects, attempt, epoch, schedule, scheduleCall };

  function launch(run: RunLaunch): { readonly execution: string; readonly begin: () => void } {
    const execution = `${run.runId}/${++last.execution}`;
    const execute = async (primitives: Parameters<EngineProgram["run"]>[0]): Promise<void> => {
      dropRun(runs, execution, (await program?.run(primitives)) ?? null);
    };
    const begin = (): void => {
      const started = new LocalRun(run, host, { replayEveryStep, program: execute });
      runs.set(execution, started);
      // Not inside the call that launches it, and from a microtask, so that the first flush of the execution counts.
      scheduleCall(() => started.start());
    };
    return { execution, begin };
  }

  return {
    name: "local",
    durable: false,
    define: (defined) => {
      program = defined;
      objects.define(defined.objects);
      sinks.define(defined.sinks);
    },
    serve: async () => undefined,
    drain: async () => undefined,
    call: objects.ask,
    waitForChange: (object, options) => objects.waitForChange(object, options),
    attach: async (execution, { signal }) => (await runs.get(execution)?.waitForEnd(signal)) ?? null,
    [Symbol.asyncDispose]: async () => {
      closed.abort(new Error("the engine was closed"));
      timers.close();
      for (const run of runs.values()) run.close();
      runs.clear();
    },
  };
}

/** Ends an execution. Its timers and remaining effects must not outlive it. */
function dropRun(runs: Map<string, LocalRun>, execution: string, returned: Json = null): void {
  runs.get(execution)?.close(returned);
  runs.delete(execution);
}
