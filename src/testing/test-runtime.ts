import type { Agent, Input, NumberedEvent, RunResult } from "#kernel";
import { local } from "#engines/local";
import { Runtime, type RunHandle, type RuntimeOptions, type StartOptions } from "#runtime";

/** Options of a test runtime. */
export interface TestRuntimeOptions extends Omit<RuntimeOptions, "engine"> {
  /** Throw every execution away after each operation and replay it? Default true: it finds code that cannot be. */
  readonly replay?: boolean;
}

/** A runtime for the tests of agents. */
export interface TestRuntime extends AsyncDisposable {
  readonly runtime: Runtime;
  /** Starts a tree and waits for its end. */
  run<Output, Task extends Input = Input>(
    agent: Agent<Output, Task>,
    input: NoInfer<Task>,
    options?: StartOptions,
  ): Promise<RunResult<Output>>;
  /** Starts a tree. */
  start<Output, Task extends Input = Input>(
    agent: Agent<Output, Task>,
    input: NoInfer<Task>,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>;
  /** Returns all events of a tree, once it has ended. */
  events(run: RunHandle<unknown>): Promise<readonly NumberedEvent[]>;
}

/** Creates a runtime in memory that replays every execution after each operation. */
export function testRuntime({ replay = true, ...options }: TestRuntimeOptions): TestRuntime {
  const engine = local({ replayEveryStep: replay, ...(options.clock && { clock: options.clock }) });
  const runtime = new Runtime({ ...options, engine });
  return {
    runtime,
    start: (agent, input, given) => runtime.start(agent, input, given),
    run: async (agent, input, given) => (await runtime.start(agent, input, given)).result(),
    events: async (run) => {
      const events: NumberedEvent[] = [];
      for await (const event of run.events()) events.push(event);
      return events;
    },
    [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose](),
  };
}
