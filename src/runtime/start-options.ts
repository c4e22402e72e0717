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
  /** Names the tree: the same id again is the same tree. Default: a fresh one. */
  readonly id?: string;
  /** The name of the tree in lists, at most 120 characters. It is stored in the clear, like ids. Default: none. */
  readonly name?: string;
  readonly tenant?: string;
  readonly user?: string;
  /** The user's conversation. One tree at a time has its turn in it. Default: a fresh one. */
  readonly session?: string;
  /** When another tree has the turn: throw a SessionBusyError, or wait as `pending` until it is over. Default refuse. */
  readonly onBusy?: "refuse" | "queue";
  /**
   * The entry of the conversation that the turn follows; null: none, the turn begins the conversation again. What came
   * after it stays, on a path of its own. Needs `session`. Default: the newest entry.
   */
  readonly after?: EntryId | null;
  readonly channel?: string;
  readonly metadata?: RequestMetadata;
  /** Default: the agent's, else permanent. */
  readonly retention?: HistoryRetention;
  /** The limits of the whole tree. Default: none. */
  readonly budget?: ExecutionBudget;
  /** The number of agents, at once and in all. Default: 50 at once, preemption allowed. */
  readonly spawn?: Partial<SpawnBudget>;
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** Rules for every run of the tree: they only narrow what agents and runtime allow. Default: none. */
  readonly permissions?: readonly PermissionRule[];
  /** The `traceparent` of the request that asks for it: its spans come below that one's. One that is none is ignored. */
  readonly traceparent?: string;
  /** The labels of the input, for example of a mail from a stranger. Default: neither untrusted nor private. */
  readonly labels?: Partial<Labels>;
  /** Seconds the whole tree may take. Default: the budget's. */
  readonly deadlineS?: number;
}

/** The options of a worker. */
export interface ServeOptions {
  readonly port: number;
  /**
   * Where other processes may watch the answers of models as they come, if there is a store to list it in. Default: a
   * free port of `127.0.0.1`. Null: nowhere; models are then asked to stream only while a reader watches here.
   */
  readonly deltas?: DeltaEndpointOptions | null;
}
