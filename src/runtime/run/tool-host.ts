import type { Permissions, Tool } from "#kernel";
import type { ModelHost } from "./model-host.ts";

/** What a tool step needs besides. */
export interface ToolHost extends ModelHost {
  readonly tools: readonly Tool[];
  /** The names it may call; null: all. */
  readonly whitelist: readonly string[] | null;
  /** Who decides where the agent's own policy does not. */
  readonly permissions: Permissions;
}
