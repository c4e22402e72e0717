import type { AgentId, RunId, TenantId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";

/** The possible harm of a call. `high` and `critical` require a permission. */
export type Risk = "safe" | "high" | "critical";

/** A decision about a call: run it, ask a person, or refuse. The strictest decision counts. */
export type PermissionDecision = "allow" | "ask" | "deny";

/** A tool call to decide about. The arguments are those that will be executed. */
export interface PermissionRequest {
  readonly tool: string;
  readonly risk: Risk;
  readonly input: Json;
  readonly agentId: AgentId;
  readonly runId: RunId;
  readonly tenantId: TenantId | null;
  /** Labels of the content that the run has seen. */
  readonly labels: Labels;
  /** Whether this call sends data out. */
  readonly egress: boolean;
}

/** Rules that decide about tool calls. An error or an invalid decision denies. */
export interface Permissions {
  decide(request: PermissionRequest): PermissionDecision | Promise<PermissionDecision>;
  /** Set if every call is allowed. The stream and the audit record it for each run. */
  readonly allowsAll?: true;
  /**
   * Whether this call may be made without approval by a run that has seen untrusted and private content. Absent: no
   * call may.
   */
  exempts?(request: PermissionRequest): boolean;
}

/** A condition on one argument. An absent argument satisfies no condition. */
export interface ArgumentTest {
  /** Path of the argument: `to`, or `recipient.address`. */
  readonly path: string;
  readonly equals?: Json;
  readonly oneOf?: readonly Json[];
  /** Prefix or suffix of a text. */
  readonly startsWith?: string;
  readonly endsWith?: string;
  /** Maximum of a number. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** A permission rule as data. An absent field matches anything. */
export interface PermissionRule {
  readonly verdict: PermissionDecision;
  /** Tool names. `*` matches any part of a name. */
  readonly tool?: string | readonly string[];
  readonly risk?: Risk | readonly Risk[];
  /** Agent types. `*` matches any part of a type. */
  readonly agent?: string | readonly string[];
  readonly tenant?: string | readonly string[];
  /** All of these must hold. */
  readonly arguments?: readonly ArgumentTest[];
  /**
   * Makes an `allow` rule apply even if the run has seen untrusted and private content. Each use is recorded in the
   * stream. Default: such a call requires approval.
   */
  readonly ruleOfTwo?: "exempt";
}
