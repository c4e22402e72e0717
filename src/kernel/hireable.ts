import type { AgentId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { ExecutionBudget, HistoryRetention, Priority } from "./supervision.ts";

/** The type of what the runs of an agent return. */
export type OutputOf<Spec> = Spec extends Hireable<infer Output> ? Output : never;

/** An agent as a parent knows it that can spawn it. `Output`: the type of what its runs return. */
export interface Hireable<Output = Json> {
  readonly id: AgentId;
  /** For the compiler only: never there at run time. */
  readonly "~types"?: { readonly output: Output } | undefined;
  /** What a boss sees when it decides whom to hire. */
  readonly description?: string | undefined;
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
