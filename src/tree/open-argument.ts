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
  /** The first start's secret counts; a repeated start's is ignored. */
  readonly secret: TreeSecret;
  readonly agentId: AgentId;
  readonly version: string;
  /** Whether the agent states its version; else the tree's worker takes the version of its own agent. */
  readonly statesVersion: boolean;
  readonly boot: Envelope;
  readonly scope: TreeScope;
  readonly traceId: string;
  /** The `traceparent` of the caller that starts it. */
  readonly caller: string | null;
  readonly spawn: SpawnBudget;
  readonly treeBudget: ExecutionBudget;
  readonly rootBudget: ExecutionBudget;
  readonly priority: Priority;
  readonly retention: HistoryRetention;
  /** Rules for every run of the tree: calls that are forbidden, or need an approval. */
  readonly rules: readonly PermissionRule[];
  /** Prices of the models that the agents name, by provider and model id. */
  readonly prices: Readonly<Record<string, Price>>;
  readonly ageingMs: number;
  readonly yieldTimeoutMs: number;
  readonly cancelGraceMs: number;
  readonly maxRestarts: number;
  /** The conversation whose turn it takes; null: a conversation of its own. */
  readonly session: ObjectAddress | null;
  /** Whether another tree has that turn: then the root starts with the call `go`. */
  readonly waits: boolean;
  /** The entry of the conversation that the turn follows; null: it follows none. Default: the newest one. */
  readonly after?: EntryId | null | undefined;
  /** Set if the tree has no turn to take: it compacts the conversation. */
  readonly compaction?: CompactionOrder | undefined;
  /** The name that lists show. Default: none. */
  readonly name?: string | undefined;
  readonly at: number;
}

/** The answer to it. */
export interface OpenReply {
  readonly existing: boolean;
  /** The engine's name for the first execution of the root; null: it was told before, or none has begun. */
  readonly execution: string | null;
}
