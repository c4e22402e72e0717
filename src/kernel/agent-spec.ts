import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { AgentId } from "./ids.ts";
import type { Input, InputContent } from "./input.ts";
import type { Json, Jsonified } from "./json.ts";
import type { ExecutionBudget, HistoryRetention, Priority } from "./supervision.ts";

/** The output type of an agent's runs. */
export type OutputOf<Spec> = Spec extends AgentSpec<infer Output, unknown> ? Output : never;

/** The input of an agent that states an input schema: its data is what the schema takes. */
export interface TypedInput<Data> extends Omit<InputContent, "data"> {
  readonly data: Jsonified<Data>;
}

/** The input type of an agent's runs. */
export type TaskOf<Spec> = Spec extends AgentSpec<unknown, infer Task> ? Task : never;

/**
 * The facts about an agent that a parent needs to spawn it. `Output`: the output type of its runs. `Task`: their input
 * type.
 */
export interface AgentSpec<Output = Json, Task = Input> {
  readonly id: AgentId;
  /** For the compiler only: never there at run time. */
  readonly "~types"?: { readonly output: Output; readonly task: Task } | undefined;
  /** A description that a parent's model reads when it chooses a child. */
  readonly description?: string | undefined;
  /** The schema of the data that its runs are started with, an object. Default: any input. */
  readonly input?: StandardSchemaV1 | undefined;
  /** Budget of each of its runs. Default: no limits of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /** Default: `permanent` at the root, else `run`. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: normal. */
  readonly priority?: Priority | undefined;
  /**
   * Version of the agent's code. It changes when runs that began with the old code cannot continue with the new.
   * Default: a hash of the names and schemas of its tools, its output schema and its loop limits.
   */
  readonly version?: string | undefined;
}
