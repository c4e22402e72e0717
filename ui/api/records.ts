import type { AgentEnd, AgentView, Known } from "#view";

/** The records of the server's routes, as far as the page shows them. */

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/** The status of a run. */
export type RunStatus = AgentView["status"];

/** One run in a list. */
export interface RunRecord {
  readonly treeId: string;
  readonly runId: AgentView["runId"];
  readonly agentId: string;
  readonly userId: string | null;
  readonly status: RunStatus;
  readonly stopReason: AgentEnd["stopReason"] | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Settled and in doubt. */
  readonly costMicros: number;
  readonly inDoubtMicros: number;
  readonly reservedMicros: number;
  readonly name: string | null;
  /** Null: it has no limit, or none is known. */
  readonly maxCostMicros: number | null;
  /** The sum of the run and all below it; null: not known. */
  readonly agents: number | null;
  readonly liveAgents: number | null;
}

/** A question to a person, and the decision on it. */
export type ApprovalRecord = Known["pending"][number];

/** Any JSON. */
export type Json = ApprovalRecord["arguments"];

/** An agent that can be started. */
export interface AgentRecord {
  readonly name: string;
  readonly description: string | null;
  readonly version: string;
  /** Its own limits; null: none. */
  readonly budget: { readonly maxCostUsd?: number; readonly onLimit?: "land" | "wait" } | null;
}

/** The right to do something. */
export type Scope = "read" | "run" | "approve" | "admin" | "content";

/** The holder of the key. */
export interface Me {
  readonly id: string;
  readonly tenant: string | null;
  readonly scopes: readonly Scope[];
  /** The settings of `reeve dev`; null: this is another server. */
  readonly dev: { readonly example: string | null } | null;
}

/** The runs that a cancel ended. */
export interface CancelReceipt {
  readonly runs: readonly { readonly runId: string; readonly tookMs: number; readonly spentAfter: number }[];
}

/** The result of a run; its output is null where there is none. */
export type RunResult = NonNullable<Known["result"]>;
