import type { AgentId, RunId, TenantId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Risk } from "./tool.ts";

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
}

/** Decides about tool calls. Throwing, or an answer that is none of the three, denies. */
export interface Permissions {
  decide(request: PermissionRequest): Verdict | Promise<Verdict>;
}
