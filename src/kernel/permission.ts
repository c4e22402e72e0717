import type { AgentId, RunId, TenantId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";

/** How much harm a call can do. High and critical need a permission. */
export type Risk = "safe" | "high" | "critical";

/** What may be done about a call: run it, ask a person, or refuse. The strictest word counts. */
export type Verdict = "allow" | "ask" | "deny";

/** A call somebody wants to make. The arguments are those that will be executed. */
export interface PermissionRequest {
  readonly tool: string;
  readonly risk: Risk;
  readonly input: Json;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly tenantId: TenantId | null;
  /** What the run has seen. */
  readonly labels: Labels;
  /** Does something leave by this call? */
  readonly outside: boolean;
}

/** Decides about tool calls. Throwing, or an answer that is none of the three, denies. */
export interface Permissions {
  decide(request: PermissionRequest): Verdict | Promise<Verdict>;
  /** Set where every call is allowed: the stream and the audit say so of each run. */
  readonly allowsAll?: true;
  /** May this call leave a run that has seen both untrusted and private content, unasked? Absent: none may. */
  exempts?(request: PermissionRequest): boolean;
}

/** Something that must hold of one argument. An argument that is not there satisfies nothing. */
export interface ArgumentTest {
  /** Where it is: `to`, or `recipient.address`. */
  readonly path: string;
  readonly equals?: Json;
  readonly oneOf?: readonly Json[];
  /** Of a text: begins, or ends, like this. */
  readonly startsWith?: string;
  readonly endsWith?: string;
  /** Of a number. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** A word about some calls, as data. What is absent matches anything. */
export interface PermissionRule {
  readonly verdict: Verdict;
  /** Names; a `*` stands for any part of one. */
  readonly tool?: string | readonly string[];
  readonly risk?: Risk | readonly Risk[];
  /** Types of agents; a `*` stands for any part. */
  readonly agent?: string | readonly string[];
  readonly tenant?: string | readonly string[];
  /** All of these must hold. */
  readonly arguments?: readonly ArgumentTest[];
  /**
   * Of a rule that allows: also where the run has seen both untrusted and private content. Each use is in the stream.
   * Default: such a call needs somebody's word.
   */
  readonly ruleOfTwo?: "exempt";
}
