import { local } from "#engines/local";
import { Runtime, type RuntimeOptions } from "#runtime";

/** What `createRuntime` takes. */
export interface CreateRuntimeOptions extends Omit<RuntimeOptions, "engine"> {
  /** Default: the local engine, where nothing survives the process. */
  readonly engine?: RuntimeOptions["engine"];
}

/** A runtime for these agents. */
export function createRuntime(options: CreateRuntimeOptions): Runtime {
  const engine = options.engine ?? local(options.clock ? { clock: options.clock } : {});
  return new Runtime({ ...options, engine });
}
