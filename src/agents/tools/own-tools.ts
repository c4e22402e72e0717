import type { Tool } from "#kernel";
import { handoffOf } from "../handoffs/handoff.ts";
import { isTeamTool } from "../team.ts";
import { aiSdkTools, type AiSdkTool } from "./ai-sdk-tools.ts";

type GivenTools = readonly Tool[] | Readonly<Record<string, AiSdkTool>>;

/** The tools that an agent was given directly, by its list of all tools. */
const ownLists = new WeakMap<readonly Tool[], readonly Tool[]>();

/** Records which tools of a list an agent was given directly. */
export function noteOwnTools(all: readonly Tool[], own: readonly Tool[]): void {
  ownLists.set(all, own);
}

/**
 * Returns the tools that an agent was given directly. Those created for another agent's team or handoffs are left out.
 */
export function ownTools(tools: GivenTools | undefined): readonly Tool[] {
  if (!tools) return [];
  if (!isToolList(tools)) return aiSdkTools(tools);
  return ownLists.get(tools) ?? tools.filter((given) => !isTeamTool(given) && !handoffOf(given));
}

function isToolList(tools: GivenTools): tools is readonly Tool[] {
  return Array.isArray(tools);
}
