import type { Approver, PermissionRule, Permissions, Tool } from "#kernel";
import type { Guards } from "./guards.ts";
import type { ModelHost } from "./model-host.ts";
import type { RunLabels } from "./run-labels.ts";

/** Who decides about calls that need somebody's word. */
export interface ApprovalPolicy {
  /** Null: nobody, so that they are refused. */
  readonly approver: "people" | Approver | null;
  /** How long a question stands. */
  readonly expiresS: number;
}

/** What a tool step needs besides. */
export interface ToolHost extends ModelHost {
  readonly tools: readonly Tool[];
  /** The names it may call; null: all. */
  readonly whitelist: readonly string[] | null;
  /** Who decides where the agent's own policy does not. */
  readonly permissions: Permissions;
  /** What those above the run have forbidden, or want to be asked about. */
  readonly rules: readonly PermissionRule[];
  readonly approvals: ApprovalPolicy;
  readonly traceId: string;
  readonly guards: Guards;
  /** What the run has seen. */
  readonly labels: RunLabels;
  /** Does a call that leaves a run which has seen both untrusted and private content need somebody's word? */
  readonly ruleOfTwo: "ask" | "off";
}
