import { checkDuration } from "./check-time.ts";
import { Money } from "./money.ts";
import { TopicId, type AgentId, type RunId, type SessionId, type TreeId } from "./ids.ts";

/** The importance of a branch of work. */
export type Priority = "background" | "low" | "normal" | "high" | "critical";

const weights = { background: 0, low: 1, normal: 2, high: 4, critical: 8 } as const satisfies Record<
  Priority,
  number
>;

/** The five priorities and their order. */
export const Priority = {
  background: "background",
  low: "low",
  normal: "normal",
  high: "high",
  critical: "critical",
  /** Returns 0, 1, 2, 4 or 8: higher goes first. */
  weight: (priority: Priority): number => weights[priority],
  /** Lowest first. */
  all: Object.freeze(["background", "low", "normal", "high", "critical"]) satisfies readonly Priority[],
} as const;

/** Retention of an agent's content: never written, until its tree ends, or permanently. */
export type HistoryRetention = "none" | "run" | "permanent";

/** The values of {@link HistoryRetention}, the shortest first. */
export const retentions = Object.freeze(["none", "run", "permanent"]) satisfies readonly HistoryRetention[];

/** Limits on the number of agents of a tree, concurrent and total. Shared by the whole tree. */
export interface SpawnBudget {
  /** Live runs, root included. Default: 50. */
  readonly maxAgents: number;
  /** Whether `high` and `critical` runs may preempt a lower run for its slot. Default: true. */
  readonly allowPreempt: boolean;
  /** Maximum number of children ever spawned in the tree, ended ones included. Default: no limit. */
  readonly maxTotal?: number | undefined;
}

/** Constructors of {@link SpawnBudget}. */
export const SpawnBudget = {
  /** @throws RangeError unless `maxAgents` is a whole number of at least 1, and `maxTotal` one of at least 0. */
  of: ({ maxAgents = 50, allowPreempt = true, maxTotal }: Partial<SpawnBudget> = {}): SpawnBudget => {
    if (!Number.isSafeInteger(maxAgents) || maxAgents < 1)
      throw new RangeError(`maxAgents must be an integer >= 1, got ${maxAgents}`);
    if (maxTotal === undefined) return Object.freeze({ maxAgents, allowPreempt });
    if (!Number.isSafeInteger(maxTotal) || maxTotal < 0)
      throw new RangeError(`maxTotal must be an integer >= 0, got ${maxTotal}`);
    return Object.freeze({ maxAgents, allowPreempt, maxTotal });
  },
} as const;

/** Limits of one run, including its descendants. An absent limit is none; 0 allows nothing. */
export interface ExecutionBudget {
  /** Input and output tokens of the run and everything below it. */
  readonly maxTokens?: number | undefined;
  /** Dollars spent on models by the run and everything below it. */
  readonly maxCostUsd?: number | undefined;
  /** The run's own model calls. */
  readonly maxTurns?: number | undefined;
  /** Seconds from the moment the run starts. */
  readonly deadlineS?: number | undefined;
  /**
   * The reaction to a call that does not fit the limits, once no call in flight can free any. `land`: the run lands.
   * `wait`: it waits for a top-up, a cancel or the deadline. Default: `land`.
   */
  readonly onLimit?: "land" | "wait" | undefined;
}

/** Constructors of {@link ExecutionBudget}. */
export const ExecutionBudget = {
  unlimited: Object.freeze({}) satisfies ExecutionBudget,
  /** @throws RangeError on a limit that is negative, not a number, too large or, for tokens and turns, not whole. */
  of: (limits: ExecutionBudget = {}): ExecutionBudget => {
    const { onLimit = "land", deadlineS = 0, maxCostUsd = 0, ...numbers } = limits;
    if (onLimit !== "land" && onLimit !== "wait")
      throw new RangeError(`onLimit must be "land" or "wait", got ${JSON.stringify(onLimit)}`);
    for (const [name, limit] of Object.entries(numbers)) {
      if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0))
        throw new RangeError(`${name} must be an integer >= 0, got ${limit}`);
    }
    Money.checkUsd("maxCostUsd", maxCostUsd);
    checkDuration("deadlineS", deadlineS);
    return Object.freeze({ ...limits });
  },
} as const;

/** One run's position in its tree: its parent, session and limits. Plain frozen data. */
export interface Supervision {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly rootId: AgentId;
  readonly agentId: AgentId;
  /** The parent agent. Null at the root. */
  readonly parentId: AgentId | null;
  /** The parent run. Null at the root. */
  readonly parentRunId: RunId | null;
  /** 0 at the root. For display only: nothing limits depth, headcount does. */
  readonly depth: number;
  /** Shared by the whole tree. */
  readonly spawnBudget: SpawnBudget;
  readonly executionBudget: ExecutionBudget;
  readonly retention: HistoryRetention;
  readonly priority: Priority;
}

/** Options of a root run. */
interface RootOptions {
  readonly treeId: TreeId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Default: 50 agents, preemption allowed. */
  readonly spawnBudget?: SpawnBudget | undefined;
  /** Default: unlimited. */
  readonly executionBudget?: ExecutionBudget | undefined;
  /** Default: permanent. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: normal. */
  readonly priority?: Priority | undefined;
}

/** Options of a child run. */
interface ChildOptions {
  readonly runId: RunId;
  readonly agentId: AgentId;
  /** The parent agent. */
  readonly parentId: AgentId;
  /** Default: no limits of its own. It draws on the parent's. */
  readonly executionBudget?: ExecutionBudget | undefined;
  /** Default: run. */
  readonly retention?: HistoryRetention | undefined;
  /** Default: normal. Not inherited. */
  readonly priority?: Priority | undefined;
}

/** Constructors and readers of {@link Supervision}. */
export const Supervision = {
  root: (agentId: AgentId, options: RootOptions): Supervision =>
    Object.freeze({
      treeId: options.treeId,
      runId: options.runId,
      sessionId: options.sessionId,
      rootId: agentId,
      agentId,
      parentId: null,
      parentRunId: null,
      depth: 0,
      spawnBudget: options.spawnBudget ?? SpawnBudget.of(),
      executionBudget: options.executionBudget ?? ExecutionBudget.unlimited,
      retention: options.retention ?? "permanent",
      priority: options.priority ?? "normal",
    }),
  child: (parent: Supervision, options: ChildOptions): Supervision =>
    Object.freeze({
      treeId: parent.treeId,
      runId: options.runId,
      sessionId: parent.sessionId,
      rootId: parent.rootId,
      agentId: options.agentId,
      parentId: options.parentId,
      parentRunId: parent.runId,
      depth: parent.depth + 1,
      spawnBudget: parent.spawnBudget,
      executionBudget: options.executionBudget ?? parent.executionBudget,
      retention: options.retention ?? "run",
      priority: options.priority ?? "normal",
    }),
  isRoot: (supervision: Supervision): boolean => supervision.parentId === null,
  /** Returns the topic for progress of every run of the tree. One topic, so an observer subscribes once. */
  progressTopic: (supervision: Supervision): TopicId => TopicId.of("agent.progress", supervision.treeId),
} as const;
