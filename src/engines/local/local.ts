import { randomUUID } from "node:crypto";
import type { Clock, Engine, Epoch, EngineProgram, Json, RunLaunch } from "#kernel";
import { systemClock } from "#base";
import { macrotask, microtask, tick } from "./hop.ts";
import { LocalObjects } from "./local-objects.ts";
import { LocalSinks } from "./local-sinks.ts";
import { Timers } from "./timers.ts";
import { LocalRun, type RunHost } from "./local-run.ts";

/** How the local engine behaves. */
export interface LocalOptions {
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Throw every execution away after each operation and replay it, to find code that cannot be. Default false. */
  readonly fuzz?: boolean;
  /**
   * Calls back once every microtask has run and it is this callback's turn: whoever gives it decides in which order
   * calls arrive and executions go on. Default: in the order in which they were asked for.
   */
  readonly hop?: (then: () => void) => void;
}

/**
 * Runs in this process. Nothing survives it: for tests, scripts and the first five minutes. Of trees
 * that are finished it keeps the last 1,000.
 */
export function local({ clock = systemClock, fuzz = false, hop: given }: LocalOptions = {}): Engine {
  const hop = given ?? (fuzz ? macrotask : tick());
  // Where nobody decides about the order, a call of a run takes no longer than any other promise.
  const callHop = given ?? (fuzz ? macrotask : microtask());
  const runs = new Map<string, LocalRun>();
  const closed = new AbortController();
  const timers = new Timers(clock);
  let program: EngineProgram | null = null;
  let executions = 0;
  let epochs = 0;
  let attempts = 0;
  /** Tells what happens here from what happens in any other engine. */
  const engine = randomUUID();

  const sinks = new LocalSinks(clock, closed.signal);
  const objects = new LocalObjects(
    {
      launch: (run) => launch(run),
      wake: (execution, name) => runs.get(execution)?.wake(name),
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

/** Ends an execution. Its timers, and effects it left behind, must not outlive it. */
function drop(runs: Map<string, LocalRun>, execution: string, returned: Json = null): void {
  runs.get(execution)?.close(returned);
  runs.delete(execution);
}
