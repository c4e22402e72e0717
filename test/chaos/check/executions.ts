import type { Disturbance } from "../faults.ts";
import type { History } from "../history.ts";

/** One execution of a run, in one process. */
export interface Execution {
  readonly epoch: string;
  readonly pid: number;
  readonly from: number;
  /** When it returned, or the next execution of its run began. */
  readonly until: number;
}

/** Returns the executions of a run in the order in which they began. */
export function executionsOf({ traces }: Pick<History, "traces">, run: string): readonly Execution[] {
  return (byRun.get(traces) ?? readExecutions(traces)).get(run) ?? [];
}

const byRun = new WeakMap<History["traces"], ReadonlyMap<string, readonly Execution[]>>();

function readExecutions(traces: History["traces"]): ReadonlyMap<string, readonly Execution[]> {
  const ends = new Map<string, number>();
  for (const line of traces) if (line.kind === "ended") ends.set(line.epoch, line.at);
  const begun = traces.flatMap((line) => (line.kind === "began" ? [line] : []));
  const executions = new Map<string, readonly Execution[]>();
  for (const [run, lines] of Map.groupBy(begun, (line) => line.run)) {
    const sorted = lines.toSorted((one, other) => one.at - other.at);
    executions.set(
      run,
      sorted.map(({ epoch, pid, at: from }, index) => {
        const next = sorted[index + 1]?.at ?? Infinity;
        return { epoch, pid, from, until: Math.min(ends.get(epoch) ?? Infinity, next) };
      }),
    );
  }
  byRun.set(traces, executions);
  return executions;
}

/**
 * Whether a fault can have cut or delayed what a process did between two moments: it hit this process, or Restate, to
 * which all are connected.
 */
export const hits = ({ kind, pid, from, until }: Disturbance, process: number, window: Window): boolean =>
  (kind === "kill-restate" || (kind !== "kill-postgres" && pid === process)) &&
  from <= window.to &&
  until >= window.from;

/** A time from one moment to another. */
export interface Window {
  readonly from: number;
  readonly to: number;
}
