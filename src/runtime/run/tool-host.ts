import type { Approver, PermissionRule, Permissions, Tool } from "#kernel";
import type { ModelHost } from "./model-host.ts";

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
}
