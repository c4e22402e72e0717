import { local } from "#engines/local";
import { diagnosticText } from "#base";
import { findPlatformProblem, type FailureLog } from "#kernel";
import { memoryStore } from "#stores/memory";
import { Runtime, type RuntimeOptions } from "#runtime";

/** The options of `createRuntime`. */
export interface CreateRuntimeOptions extends Omit<
  RuntimeOptions,
  "engine" | "log" | "store" | "workingDirectory"
> {
  /** Default: the local engine. Nothing survives the process. */
  readonly engine?: RuntimeOptions["engine"];
  /**
   * Receives each error of the program's own code: tools, agents, steps, middleware, guardrails, hooks. Once a minute
   * also that of a store that fails again and again. Messages may hold content. Default: standard error, in production
   * without the messages.
   */
  readonly log?: FailureLog;
  /**
   * The store for events, lists of runs and the audit. If the engine seals data that leaves the process, the store's
   * content is sealed, too. Default on a durable engine: none. Default on other engines: the memory of this process,
   * with the last 1,000 finished trees and no audit.
   */
  readonly store?: NonNullable<RuntimeOptions["store"]>;
  /** The directory that the footer of system prompts with sections names. Null: none. Default: that of the process. */
  readonly workingDirectory?: string | null;
}

/**
 * Writes a failure of the program's code to standard error: its source, its message and its stack. In production
 * without the message, which may hold content: the events have it.
 */
const logToStderr: FailureLog = ({ tree, agent, run, diagnostic }) => {
  const message = run === null ? "(message left out)" : "(message in the events)";
  const shown = process.env["NODE_ENV"] === "production" ? { ...diagnostic, message } : diagnostic;
  const who = run === null ? `tree ${tree}` : `agent ${agent} (run ${run})`;
  process.stderr.write(`${who}: ${diagnosticText(shown)}\n`);
};

/** Maximum number of finished trees, as in the local engine. */
const maxFinishedTrees = 1_000;

/** Creates a runtime for these agents. @throws ProgramError that lists all mistakes; Error on a platform that is not supported. */
export function createRuntime(options: CreateRuntimeOptions): Runtime {
  const problem = findPlatformProblem(process.versions);
  if (problem !== null) throw new Error(problem);
  const { store: given, workingDirectory: directory, ...rest } = options;
  const workingDirectory = directory === undefined ? process.cwd() : directory;
  const engine = options.engine ?? local(options.clock ? { clock: options.clock } : {});
  // Other processes cannot see the memory of this one, so a durable engine needs an explicit store.
  const store = given ?? (engine.durable ? undefined : memoryStore({ maxFinishedTrees }));
  return new Runtime({
    log: logToStderr,
    ...rest,
    engine,
    ...(store && { store }),
    // The default store is for lists and conversations. Content of steps is recorded only in an explicit store.
    ...(!given && { record: rest.record ?? "off" }),
    ...(workingDirectory !== null && { workingDirectory }),
  });
}
