import type { Tool } from "#kernel";
import { handoffOf } from "../handoffs/handoff.ts";
import { isTeamTool } from "../team.ts";
import { aiSdkTools, type AiSdkTool } from "./ai-sdk-tools.ts";

type GivenTools = readonly Tool[] | Readonly<Record<string, AiSdkTool>>;

/** The tools that an agent was given itself, by its list of all. */
const ownLists = new WeakMap<readonly Tool[], readonly Tool[]>();

/** Remembers which tools of a list an agent was given itself. */
export function noteOwnTools(all: readonly Tool[], own: readonly Tool[]): void {
  ownLists.set(all, own);
}

/** Returns the tools that an agent is given itself. Those that another agent got for its team or its handoffs are left out. */
export function ownTools(tools: GivenTools | undefined): readonly Tool[] {
  if (!tools) return [];
  if (!isList(tools)) return aiSdkTools(tools);
  return ownLists.get(tools) ?? tools.filter((given) => !isTeamTool(given) && !handoffOf(given));
}

function isList(tools: GivenTools): tools is readonly Tool[] {
  return Array.isArray(tools);
}
