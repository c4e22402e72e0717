import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { AgentId } from "./ids.ts";
import type { Input, InputContent } from "./input.ts";
import type { Json, Jsonified } from "./json.ts";
import type { ExecutionBudget, HistoryRetention, Priority } from "./supervision.ts";

/** The type of what the runs of an agent return. */
export type OutputOf<Spec> = Spec extends Hireable<infer Output, unknown> ? Output : never;

/** The input of an agent that states an input schema: its data is what the schema takes. */
export interface TypedInput<Data> extends Omit<InputContent, "data"> {
  readonly data: Jsonified<Data>;
}

/** The type of what the runs of an agent are started with. */
export type TaskOf<Spec> = Spec extends Hireable<unknown, infer Task> ? Task : never;

/**
 * An agent as a parent knows it that can spawn it. `Output`: the type of what its runs return. `Task`: of what they are started
 * with.
 */
export interface Hireable<Output = Json, Task = Input> {
  readonly id: AgentId;
  /** For the compiler only: never there at run time. */
  readonly "~types"?: { readonly output: Output; readonly task: Task } | undefined;
  /** What a boss sees when it decides whom to hire. */
  readonly description?: string | undefined;
  /** The schema of the data that its runs are started with, an object. Default: any input. */
  readonly input?: StandardSchemaV1 | undefined;
  /** What each of its runs may spend. Default: no cap of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /** Default: permanent at the root, else run. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: normal. */
  readonly priority?: Priority | undefined;
  /**
   * Changes when runs that began with the old code could not go on with the new. Default: a hash of
   * the names and schemas of its tools, the form of its answer and the limits of its loop.
   */
  readonly version?: string | undefined;
}
