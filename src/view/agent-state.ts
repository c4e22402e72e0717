import type {
  AgentId,
  ApprovalId,
  AttemptId,
  Diagnostic,
  ErrorData,
  Micros,
  Priority,
  RunId,
  RunLimits,
  StepId,
  Usage,
} from "#kernel";
import type {
  Activity,
  AgentEnd,
  AgentView,
  DeadLetter,
  Denial,
  LaneSpan,
  LimitWarning,
  RefusedSpawn,
} from "./agent-view.ts";

/** A tool call that has begun. */
interface OpenTool {
  readonly callId: string;
  readonly tool: string;
  readonly since: number;
  /** A tool that spawns or waits, and so has no attempt of its own. */
  readonly spawns: boolean;
  readonly progress: string | null;
}

/** Money of one attempt. */
interface AttemptCost {
  readonly attempt: AttemptId | null;
  readonly costMicros: Micros;
}

/** A child as its parent's event names it. */
export interface SpawnedAgent {
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agent: AgentId;
  readonly priority: Priority;
  readonly at: number;
}

/**
 * The state of one run, built from events. JSON: a snapshot holds it as it is, and later events continue from it. Lists
 * instead of maps, because callers choose some of the keys; each holds a few entries.
 */
export interface AgentState {
  readonly runId: RunId;
  readonly parentRunId: RunId | null;
  readonly agent: AgentId;
  readonly spawnedAt: number;
  priority: Priority;
  startedAt: number | null;
  limits: RunLimits | null;
  version: string | null;
  queued: { readonly since: number; readonly victim: RunId | null } | null;
  end: AgentEnd | null;
  endedAt: number;
  calls: number;
  usage: Usage;
  settledMicros: Micros;
  inDoubtMicros: Micros;
  /** Calls without an end when their cycle ended: booked at their ceiling. */
  lost: readonly AttemptCost[];
  reservations: readonly AttemptCost[];
  models: readonly {
    readonly attempt: AttemptId | null;
    readonly model: string;
    readonly since: number;
  }[];
  tools: readonly OpenTool[];
  approvals: readonly {
    readonly id: ApprovalId;
    readonly tool: string;
    readonly why: string;
    readonly since: number;
  }[];
  retry: { readonly since: number; readonly delayMs: number; readonly error: ErrorData } | null;
  paused: Pick<Activity & { readonly kind: "paused" }, "since" | "cause" | "reason"> | null;
  takenBy: RunId | null;
  cancelling: { readonly since: number; readonly reason: string } | null;
  denial: Denial | null;
  /** The calls that wait for money. */
  waiting: readonly (Omit<Activity & { readonly kind: "budget" }, "kind"> & { readonly step: StepId })[];
  warnings: readonly LimitWarning[];
  guardrail: AgentView["guardrail"];
  refusedSpawns: readonly RefusedSpawn[];
  deadLetters: readonly DeadLetter[];
  brokenTools: readonly Diagnostic[];
  lostCalls: number;
  lastAt: number;
  activity: Activity;
  lane: readonly LaneSpan[];
}

/** Creates the state of a run from its parent's spawn event or its own start event. */
export function createAgentState({ runId, parentRunId, agent, priority, at }: SpawnedAgent): AgentState {
  return {
    runId,
    parentRunId,
    agent,
    spawnedAt: at,
    priority,
    startedAt: null,
    limits: null,
    version: null,
    queued: null,
    end: null,
    endedAt: 0,
    calls: 0,
    usage: { input: 0, output: 0 },
    settledMicros: 0,
    inDoubtMicros: 0,
    lost: [],
    reservations: [],
    models: [],
    tools: [],
    approvals: [],
    retry: null,
    paused: null,
    takenBy: null,
    cancelling: null,
    denial: null,
    waiting: [],
    warnings: [],
    guardrail: null,
    refusedSpawns: [],
    deadLetters: [],
    brokenTools: [],
    lostCalls: 0,
    lastAt: at,
    activity: { kind: "starting", since: at },
    lane: [],
  };
}
