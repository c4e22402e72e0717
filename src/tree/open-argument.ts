import type {
  AgentId,
  EntryId,
  Envelope,
  ExecutionBudget,
  HistoryRetention,
  ObjectAddress,
  PermissionRule,
  Price,
  Priority,
  SpawnBudget,
  TreeId,
} from "#kernel";
import type { TreeSecret } from "./tree-secret.ts";
import type { CompactionOrder, TreeScope } from "./state/records.ts";

/** The argument that opens a tree. */
export interface OpenArgument {
  readonly treeId: TreeId;
  readonly inputHash: string;
  /** The secret of the first start counts. A repeated start's secret is ignored. */
  readonly secret: TreeSecret;
  readonly agentId: AgentId;
  readonly version: string;
  /** Whether the agent states its version. If not, the tree's worker takes the version of its own agent. */
  readonly statesVersion: boolean;
  readonly firstMessage: Envelope;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of the caller. Null: none. */
  readonly caller: string | null;
  readonly spawn: SpawnBudget;
  readonly treeBudget: ExecutionBudget;
  readonly rootBudget: ExecutionBudget;
  readonly priority: Priority;
  readonly retention: HistoryRetention;
  /** Rules for every run of the tree: calls that are forbidden, or require approval. */
  readonly rules: readonly PermissionRule[];
  /** Prices of the models that the agents name, by provider and model id. */
  readonly prices: Readonly<Record<string, Price>>;
  readonly ageingMs: number;
  readonly yieldTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly maxRestarts: number;
  /** The conversation whose turn it takes. Null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Whether another tree has that turn. If so, the root starts with the call `startTurn`. */
  readonly waits: boolean;
  /** The entry of the conversation that the turn follows. Null: none. Default: the newest one. */
  readonly after?: EntryId | null | undefined;
  /** Set if the tree takes no turn but compacts the conversation. */
  readonly compaction?: CompactionOrder | undefined;
  /** The name that lists show. Default: none. */
  readonly name?: string | undefined;
  readonly at: number;
}

/** The reply to {@link OpenArgument}. */
export interface OpenReply {
  readonly existing: boolean;
  /** The engine's id of the root's first execution. Null: it was returned before, or none has begun. */
  readonly execution: string | null;
}
