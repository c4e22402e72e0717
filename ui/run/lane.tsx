import type { ReactNode } from "react";
import type { AgentView, LaneKind, LaneSpan } from "#view";
import { span } from "../parts/amounts.ts";

const classes: Readonly<Record<LaneKind, string>> = {
  model: "m",
  tool: "t",
  children: "w",
  approval: "a",
  budget: "q",
  retry: "x",
  paused: "h",
  queued: "q",
  starting: "q",
  cancelling: "x",
};

/** The time of all lanes, in milliseconds since the tree started. */
export interface TimeAxis {
  readonly from: number;
  readonly to: number;
}

const percent = (part: number, { from, to }: TimeAxis): number =>
  Math.max(0, Math.min(100, (100 * (part - from)) / Math.max(1, to - from)));

/** Describes the lane: its spans, counted. */
function laneText(lane: readonly LaneSpan[], ms: number): string {
  const countKind = (kind: LaneKind): number => lane.filter(([each]) => each === kind).length;
  const parts = [
    [countKind("model"), "model call"],
    [countKind("tool"), "tool"],
    [countKind("approval"), "wait for a person"],
    [countKind("retry"), "retry"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} × ${what}`);
  return [...told, span(ms)].join(", ");
}

/** The work of a run, along the time that all rows share. */
export function Lane({ agent, axis }: { readonly agent: AgentView; readonly axis: TimeAxis }): ReactNode {
  const spans = agent.lane.filter(([, from, to]) => from <= axis.to && (to ?? axis.to) >= axis.from);
  return (
    <span className="spans" role="img" aria-label={laneText(agent.lane, axis.to)}>
      {spans.map(([kind, from, to]) => {
        const left = percent(from, axis);
        const width = percent(to ?? axis.to, axis) - left;
        return (
          <i
            key={`${kind}${from}`}
            className={classes[kind]}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
        );
      })}
    </span>
  );
}

/** The time between the first and the last span of several runs. */
export function GroupLane({
  agents,
  axis,
}: {
  readonly agents: readonly AgentView[];
  readonly axis: TimeAxis;
}): ReactNode {
  // Spans are in the order of time: the first and the last of each run are enough.
  const firsts = agents.flatMap(({ lane }) => lane[0]?.[1] ?? []);
  const lasts = agents.flatMap(({ lane }) => {
    const last = lane.at(-1);
    return last ? [last[2] ?? axis.to] : [];
  });
  const left = percent(Math.min(...firsts, axis.to), axis);
  const right = percent(Math.max(...lasts, 0), axis);
  return (
    <span className="spans" role="img" aria-label={`${agents.length} agents, ${span(axis.to)}`}>
      <i className="g" style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }} />
    </span>
  );
}
