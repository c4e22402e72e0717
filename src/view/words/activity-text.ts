import { duration } from "./amounts.ts";
import { clean } from "./clean.ts";
import type { AgentView } from "../agent-view.ts";
import { reasonText } from "./status-text.ts";

/** Describes the current activity of a run in a few words. */
export function activityText(run: AgentView, now: number): string {
  const { activity } = run;
  const since = duration(now - activity.since);
  switch (activity.kind) {
    case "starting":
      return `starting, ${since}`;
    case "queued":
      return `queued for a slot, ${since}`;
    case "model":
      return `calling ${clean(activity.model)}, ${since}`;
    case "tool": {
      const progress = activity.progress === null ? "" : `: ${clean(activity.progress)}`;
      return `running ${joinNames(activity.tools)}, ${since}${progress}`;
    }
    case "children":
      return `waiting for ${joinNames(activity.agents)}, ${since}`;
    case "approval":
      return `needs approval: ${clean(activity.tool)}, ${since}`;
    case "retry": {
      const left = activity.delayMs - (now - activity.since);
      return `retrying in ${duration(left)}: ${clean(errorName(activity.error))}`;
    }
    case "budget":
      return `waiting for budget, ${since}`;
    case "paused":
      return activity.cause === "held" ? `paused, ${since}` : `preempted, ${since}`;
    case "cancelling":
      return `stopping: ${clean(activity.reason)}`;
    case "between":
      return "";
    case "ended":
      return run.end ? `${reasonText(run.end.stopReason)}, ${duration(run.end.durationMs)}` : "";
  }
}

/** Joins names: `search`, `search and send_email`, `researcher ×3`. */
export function joinNames(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(clean(name), (counts.get(clean(name)) ?? 0) + 1);
  const each = [...counts].map(([name, times]) => (times === 1 ? name : `${name} ×${times}`));
  return each.length < 2 ? each.join("") : `${each.slice(0, -1).join(", ")} and ${each.at(-1)}`;
}

/** Returns the display name of an error: its kind is more specific than its class. */
export function errorName(error: { readonly code: string; readonly kind?: unknown }): string {
  return typeof error.kind === "string" ? error.kind : error.code;
}
