import type {
  EntryId,
  ExecutionBudget,
  HistoryRetention,
  RequestMetadata,
  Labels,
  PermissionRule,
  Priority,
  SpawnBudget,
} from "#kernel";
import type { DeltaEndpointOptions } from "#deltas";

/** The options of a start. */
export interface StartOptions {
  /**
   * Id of the tree. The same id again is the same tree, and an IdConflictError on other terms. `name`, `channel`,
   * `metadata`, `traceparent` and `onBusy` may differ. On the local engine, the id of a tree that another process has
   * recorded in a durable store is refused. Default: a fresh one.
   */
  readonly id?: string;
  /**
   * The name of the tree in lists: one line of at most 120 characters. It is stored unencrypted, like ids. Default: none.
   */
  readonly name?: string;
  readonly tenant?: string;
  readonly user?: string;
  /** The user's conversation. One tree at a time has its turn. Default: a fresh one. */
  readonly session?: string;
  /** Reaction if another tree has the turn: throw a SessionBusyError, or wait as `pending`. Default: refuse. */
  readonly onBusy?: "refuse" | "queue";
  /**
   * The entry of the conversation that the turn follows. Null: none, the turn starts the conversation over. Later
   * entries stay, on a separate path. Requires `session`. Default: the newest entry.
   */
  readonly after?: EntryId | null;
  readonly channel?: string;
  readonly metadata?: RequestMetadata;
  /** Default: the agent's, else permanent. */
  readonly retention?: HistoryRetention;
  /** The limits of the whole tree. Default: none. */
  readonly budget?: ExecutionBudget;
  /** Limits on the number of agents. Default: 50 concurrent ones, preemption allowed. */
  readonly spawn?: Partial<SpawnBudget>;
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** Rules for every run of the tree. They can only narrow the permissions of agents and runtime. Default: none. */
  readonly permissions?: readonly PermissionRule[];
  /** The `traceparent` of the request. The tree's spans become its children. An invalid one is ignored. */
  readonly traceparent?: string;
  /** The labels of the input, for example of a mail from a stranger. Default: none. */
  readonly labels?: Partial<Labels>;
  /** Maximum seconds of the whole tree. Default: the budget's. */
  readonly deadlineS?: number;
}

/** The options of a worker. */
export interface ServeOptions {
  readonly port: number;
  /**
   * The endpoint at which other processes may subscribe to live text, if a store lists it. Default: a free port of
   * `127.0.0.1`. Null: none; models then stream only while a subscriber exists in this process.
   */
  readonly deltas?: DeltaEndpointOptions | null;
}
