import type { Tool } from "#kernel";

/** The user's settings for a tool. None of them come from the server. */
export type ToolTerms = Pick<Tool, "risk" | "origin" | "trust" | "sensitivity"> & {
  readonly idempotent?: boolean;
};
