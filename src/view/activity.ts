import type { RunStatus } from "#kernel";
import type { AgentState } from "./agent-state.ts";
import type { Activity, LaneKind, LaneSpan } from "./agent-view.ts";

/** Returns the current activity of a run. A wait precedes work: it explains why there is no progress. */
export function activityOf(state: AgentState, liveChildren: readonly AgentState[]): Activity {
  if (state.end) return { kind: "ended", since: state.endedAt };
  if (state.cancelling) return { kind: "cancelling", ...state.cancelling };
  if (state.paused) return { kind: "paused", ...state.paused, by: state.takenBy };
  if (state.queued) return { kind: "queued", ...state.queued };
  if (state.startedAt === null) return { kind: "starting", since: state.spawnedAt };
  const [asked] = state.approvals;
  if (asked) return { kind: "approval", ...asked };
  if (state.retry) return { kind: "retry", ...state.retry };
  // The latest: an earlier one may have been lost with its worker.
  const model = state.models.at(-1);
  if (model) return { kind: "model", model: model.model, since: model.since };
  const [waiting] = state.waiting;
  if (waiting) {
    const { step: _, ...call } = waiting;
    return { kind: "budget", ...call };
  }
  return findToolActivity(state, liveChildren) ?? { kind: "between", since: state.lastAt };
}

function findToolActivity({ tools }: AgentState, liveChildren: readonly AgentState[]): Activity | null {
  if (tools.length === 0) return null;
  const since = Math.min(...tools.map((tool) => tool.since));
  if (tools.every(({ spawns }) => spawns) && liveChildren.length > 0)
    return { kind: "children", since, agents: liveChildren.map(({ agent }) => agent) };
  const progress = tools.findLast((tool) => tool.progress !== null)?.progress ?? null;
  return { kind: "tool", since, tools: tools.map(({ tool }) => tool), progress };
}

/** Returns the status of a run that does this. */
export function statusOf({ end, activity: { kind } }: Pick<AgentState, "end" | "activity">): RunStatus {
  if (end) return end.status;
  if (kind === "queued" || kind === "starting") return "pending";
  if (kind === "paused") return "paused";
  const isWaiting = kind === "approval" || kind === "children" || kind === "retry" || kind === "budget";
  return isWaiting ? "waiting" : "running";
}

const maxSpans = 200;

/** Returns a lane in which an activity begins `at` a time. */
export function extendLane(lane: readonly LaneSpan[], { kind }: Activity, at: number): readonly LaneSpan[] {
  const open = lane.at(-1);
  if (open?.[2] === null) {
    if (open[0] === kind) return lane;
    lane = closeLane(lane, open, at);
  }
  if (!isDrawn(kind)) return lane;
  const last = lane.at(-1);
  const isContinued = last !== undefined && last[0] === kind && last[2] === at;
  const longer: readonly LaneSpan[] = isContinued
    ? [...lane.slice(0, -1), [kind, last[1], null]]
    : [...lane, [kind, at, null]];
  return longer.length > maxSpans ? halve(longer) : longer;
}

/** A span without length is left out. */
function closeLane(lane: readonly LaneSpan[], [kind, from]: LaneSpan, at: number): readonly LaneSpan[] {
  return at <= from ? lane.slice(0, -1) : [...lane.slice(0, -1), [kind, from, at]];
}

const isDrawn = (kind: Activity["kind"]): kind is LaneKind => kind !== "between" && kind !== "ended";

/** Returns a lane whose older half is merged in pairs; a merged span has the kind of the longer one. */
function halve(lane: readonly LaneSpan[]): readonly LaneSpan[] {
  const older = lane.slice(0, maxSpans / 2);
  const merged: LaneSpan[] = [];
  for (let at = 0; at + 1 < older.length; at += 2) {
    const [first, second] = older.slice(at, at + 2);
    if (first && second) merged.push(joinSpans(first, second));
  }
  return [...merged, ...lane.slice(older.length)];
}

const getSpanMs = ([, from, to]: LaneSpan): number => (to ?? from) - from;

function joinSpans(first: LaneSpan, second: LaneSpan): LaneSpan {
  return [getSpanMs(first) >= getSpanMs(second) ? first[0] : second[0], first[1], second[2]];
}
