import type { AgentEnd, AgentView, RunFacts } from "#view";

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
  /** Null: no limit, or unknown. */
  readonly maxCostMicros: number | null;
  /** Number of agents in the run's subtree. Null if unknown. */
  readonly agents: number | null;
  readonly liveAgents: number | null;
}

/** An approval question, and the decision on it. */
export type ApprovalRecord = RunFacts["pending"][number];

/** Any JSON. */
export type Json = ApprovalRecord["arguments"];

/** A tool of an agent, with its labels and egress. */
export interface ToolRecord {
  readonly name: string;
  readonly description: string;
  readonly risk: "safe" | "high" | "critical";
  readonly origin: string;
  readonly trust: "trusted" | "untrusted";
  readonly sensitivity: "public" | "private";
  readonly egress: boolean;
}

/** An agent that can be started, and its rights. */
export interface AgentRecord {
  readonly name: string;
  readonly description: string | null;
  readonly version: string;
  readonly model: string | null;
  readonly tools: readonly ToolRecord[];
  readonly team: readonly string[];
  /** Its own limits; null: none. */
  readonly budget: {
    readonly maxCostUsd?: number;
    readonly onLimit?: "land" | "wait";
    readonly maxTokens?: number;
    readonly maxTurns?: number;
    readonly deadlineS?: number;
  } | null;
  readonly retention: string | null;
  readonly guardrails: readonly string[];
  readonly middleware: readonly string[];
  /** Absent: the key lacks the scope content. Null: none, or computed for each turn. */
  readonly instructions?: string | null;
}

/** One link of the audit. */
export interface AuditLink {
  readonly index: number;
  readonly at: number;
  readonly kind: string;
  readonly data: Json;
  readonly source: string;
  readonly keyId: string;
  readonly previous: string;
  readonly hash: string;
}

/** The last verification of the audit. */
export interface AuditReport {
  readonly at: number;
  readonly hadHead: boolean;
  readonly verdict:
    | { readonly ok: true; readonly length: number; readonly head: AuditHead | null }
    | { readonly ok: false; readonly at: number; readonly fault: string };
}

/** The last link of the audit. */
export type AuditHead = Pick<AuditLink, "index" | "hash">;

/** A conversation in a list. */
export interface SessionRecord {
  readonly id: string;
  readonly userId: string | null;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly agentId: string | null;
  readonly channel: string | null;
  readonly title: string | null;
  readonly isNamed: boolean;
  readonly leaf: string | null;
  readonly forkedFrom: { readonly session: string; readonly entry: string } | null;
}

/** An entry of a conversation. Without the scope content it has no content. */
export interface EntryRecord {
  readonly id: string;
  readonly parentId: string | null;
  readonly at: number;
  readonly branch: string | null;
  readonly type: string;
  readonly tokens?: number;
  readonly role?: string;
  readonly message?: { readonly role: string; readonly content: readonly Json[] };
  readonly summary?: string | null;
  readonly keptFrom?: string;
  readonly tokensBefore?: number;
  readonly model?: string;
  readonly label?: string | null;
  readonly target?: string;
  readonly from?: string;
  readonly kind?: string;
}

/** The right to do something. */
export type Scope = "read" | "run" | "approve" | "admin" | "content";

/** The holder of the key. */
export interface Me {
  readonly id: string;
  readonly tenant: string | null;
  /** The only user for whom the key acts; null: all of the tenant. */
  readonly user?: string | null;
  readonly scopes: readonly Scope[];
  /** The settings of `reeve dev`; null: this is another server. */
  readonly dev: { readonly example: string | null } | null;
}

/** The runs that a cancel ended. */
export interface CancelReceipt {
  readonly runs: readonly { readonly runId: string; readonly tookMs: number; readonly spentAfter: number }[];
}

/** The result of a run; its output is null where there is none. */
export type RunResult = NonNullable<RunFacts["result"]>;

/** Spend since a moment. */
interface SpendSince {
  readonly from: number;
  readonly settledMicros: number;
  readonly inDoubtMicros: number;
}

/** The account of the tenant. */
export interface TenantAccount {
  /** Null: no limit is set. */
  readonly budget: {
    readonly maxTokens: number | null;
    readonly maxCostMicros: number | null;
    readonly per: "day" | "month" | "ever";
    readonly spent: { readonly tokens: number; readonly costMicros: number };
    readonly lent: { readonly tokens: number; readonly costMicros: number };
  } | null;
  readonly live: {
    readonly trees: number;
    readonly agents: number;
    readonly costMicros: number;
    readonly reservedMicros: number;
  };
  readonly today: SpendSince;
  readonly thisHour: SpendSince;
}
