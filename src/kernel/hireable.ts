import type { AgentId } from "./ids.ts";
import type { ExecutionBudget, HistoryRetention, Priority } from "./supervision.ts";

/** What a boss needs to know of somebody it can hire. */
export interface Hireable {
  readonly id: AgentId;
  /** What a boss sees when it decides whom to hire. */
  readonly description?: string | undefined;
  /** What each of its runs may spend. Default: no cap of its own. */
  readonly budget?: ExecutionBudget | undefined;
  /** Default: permanent at the root, else run. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: normal. */
  readonly priority?: Priority | undefined;
  /** Changes when runs that began with the old code could not go on with the new. Default `1`. */
  readonly version?: string | undefined;
}
