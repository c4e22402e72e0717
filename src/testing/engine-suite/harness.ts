import { AgentId, type Agent, type Json } from "#kernel";
import type { Runtime, RuntimeOptions } from "#runtime";

/** Requirements of a case on its engine. */
export interface SuiteHarness {
  /** A runtime on the engine under test, ready to start trees. Its agents run in this process. */
  runtime(options: Omit<RuntimeOptions, "engine" | "clock">): Promise<Runtime>;
  /**
   * Factor by which the engine may be slower than usual: because everything is replayed, or the machine is busy.
   * Default: 1.
   */
  readonly slowness?: number;
  /** True where every execution is lost as soon as something has happened, which may lose calls of hooks. Default false. */
  readonly losesHookCalls?: boolean;
}

/** One rule in observable form. */
export interface EngineCase {
  /** The rule: its number in the semantics, and a sentence. */
  readonly name: string;
  /** Whether the case measures time, so that nothing else may run concurrently. Default: false. */
  readonly timed?: boolean;
  run(harness: SuiteHarness): Promise<void>;
}

/** Creates an agent from a function. */
export function agentOf(name: string, run: Agent["run"], rest: Omit<Agent, "id" | "run"> = {}): Agent {
  return { id: AgentId.of(name), run, ...rest };
}

/** Waits until a condition holds. @throws after `withinMs`, by default 40 seconds: shorter than a test may take. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 40_000,
): Promise<void> {
  const until = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Runs a case's body on a runtime that is closed afterwards. */
export async function onRuntime<T>(
  harness: SuiteHarness,
  options: Parameters<SuiteHarness["runtime"]>[0],
  body: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const runtime = await harness.runtime(options);
  try {
    return await body(runtime);
  } finally {
    await runtime[Symbol.asyncDispose]();
  }
}

/** Waits inside a run for ever, or until cancelled. */
export const forever = (ctx: Parameters<Agent["run"]>[0]): Promise<Json> => ctx.waitFor("never");
