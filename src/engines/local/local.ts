import { randomUUID } from "node:crypto";
import type { Clock, Engine, Epoch, EngineProgram, Json, RunLaunch } from "#kernel";
import { systemClock } from "#base";
import { macrotask, microtask, tick } from "./hop.ts";
import { LocalObjects } from "./local-objects.ts";
import { LocalSinks } from "./local-sinks.ts";
import { Timers } from "./timers.ts";
import { LocalRun, type RunHost } from "./local-run.ts";

/** Options of the local engine. */
export interface LocalOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /**
   * Whether every execution is discarded after each operation and replayed, to find code that cannot be. Default:
   * false.
   */
  readonly fuzz?: boolean;
  /**
   * Calls back once every microtask has run and it is this callback's turn. It decides the order in which calls arrive
   * and executions continue. Default: the order of the requests.
   */
  readonly hop?: (then: () => void) => void;
}

/**
 * Creates an engine that runs in this process. Nothing survives the process: for tests, scripts and first steps. It
 * keeps the last 1,000 finished trees.
 */
export function local({ clock = systemClock, fuzz = false, hop: given }: LocalOptions = {}): Engine {
  const hop = given ?? (fuzz ? macrotask : tick());
  // Without a given order, a call of a run takes no longer than any other promise.
  const callHop = given ?? (fuzz ? macrotask : microtask());
  const runs = new Map<string, LocalRun>();
  const closed = new AbortController();
  const timers = new Timers(clock);
  let program: EngineProgram | null = null;
  let executions = 0;
  let epochs = 0;
  let attempts = 0;
  /** Distinguishes this engine's executions from those of any other engine. */
  const engine = randomUUID();

  const sinks = new LocalSinks(clock, closed.signal);
  const objects = new LocalObjects(
    {
      launch: (run) => launch(run),
      wake: (execution, name, value) => runs.get(execution)?.wake(name, value),
      cancel: (execution) => runs.get(execution)?.cancel(),
      kill: (execution) => drop(runs, execution),
      later: (delayMs, act, bestEffort) => timers.after(delayMs, act, bestEffort),
      now: () => clock.now(),
      hop,
    },
    sinks,
  );
  const epoch = (): Epoch => ({ id: `${engine}/${++epochs}`, order: epochs });
  const host: RunHost = { clock, objects, attempt: () => `${engine}-${++attempts}`, epoch, hop, callHop };

  function launch(run: RunLaunch): { readonly execution: string; readonly begin: () => void } {
    const execution = `${run.runId}/${++executions}`;
    const execute = async (primitives: Parameters<EngineProgram["run"]>[0]): Promise<void> => {
      drop(runs, execution, (await program?.run(primitives)) ?? null);
    };
    const begin = (): void => {
      const started = new LocalRun(run, host, { fuzz, program: execute });
      runs.set(execution, started);
      // Not inside the call that launches it.
      hop(() => started.start());
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
function drop(runs: Map<string, LocalRun>, execution: string, returned: Json = null): void {
  runs.get(execution)?.close(returned);
  runs.delete(execution);
}
