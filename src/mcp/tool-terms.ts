import type { Tool } from "#kernel";

/** The user's word about a tool: nothing of it comes from the server. */
export type ToolTerms = Pick<Tool, "risk" | "origin" | "trust" | "sensitivity"> & {
  readonly idempotent?: boolean;
};
