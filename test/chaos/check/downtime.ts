// The time for which faults kept a run from working.
//
// A fault counts for a run only if it hit a process that the run needed: the one that had its execution, the one that
// had a call of its tree, or Restate. It counts only while it lasted: until another execution of the run began, or the
// tree was called again. What needs longer than Restate's retry has no excuse.

import type { Disturbance } from "../faults.ts";
import type { History } from "../history.ts";
import { executionsOf, type Window } from "./executions.ts";
import { treeOf } from "./reading.ts";

/** Restate waits up to a second before it gives the work of a dead process to another. */
const retryMs = 1_000;
/** A call of a tree takes no longer. */
const callMs = 250;

/** Returns the milliseconds of a window in which faults kept a run from working. */
export function downMs(history: History, run: string, { from, to }: Window): number {
  const down = [...downtimesOfRun(history, run), ...downtimesOfTree(history, treeOf(run))];
  let covered = from;
  let total = 0;
  for (const each of down.toSorted((one, other) => one.from - other.from)) {
    const begin = Math.max(each.from, covered);
    const end = Math.min(each.to, to);
    if (end <= begin) continue;
    total += end - begin;
    covered = end;
  }
  return total;
}

/** Returns the milliseconds that the machine lost between two moments, to a quarter of a second. */
export function lostMs({ losses }: Pick<History, "losses">, { from, to }: Window): number {
  const before = losses.findLast(({ at }) => at <= from)?.ms ?? 0;
  const after = losses.find(({ at }) => at >= to) ?? losses.at(-1);
  return Math.max(0, (after?.ms ?? 0) - before);
}

function downtimesOfRun(history: History, run: string): readonly Window[] {
  const executions = executionsOf(history, run);
  return executions.flatMap(({ pid, from, until }, index) => {
    const next = executions[index + 1]?.from ?? Infinity;
    return history.disturbances.flatMap((fault): readonly Window[] => {
      if (fault.kind === "freeze-worker" && fault.pid === pid) {
        // It was frozen at work, or when it was given the execution.
        const isHit = fault.from <= until && fault.until >= from - callMs;
        return isHit
          ? [{ from: fault.from, to: Math.max(fault.until, Math.min(from, fault.until + callMs)) }]
          : [];
      }
      const isLost = isKillOf(fault, pid) && fault.from >= from && fault.from <= until;
      return isLost ? [{ from: fault.from, to: Math.min(next, fault.until + retryMs) }] : [];
    });
  });
}

function downtimesOfTree(history: History, tree: string): readonly Window[] {
  const calls = callsOf(history, tree);
  return history.disturbances.flatMap((fault): readonly Window[] => {
    const { kind, pid, from, until } = fault;
    if (kind === "kill-postgres") return [];
    const next = calls.find(({ at }) => at > from)?.at ?? Infinity;
    if (kind === "kill-restate") return [{ from, to: Math.min(Math.max(next, until), until + retryMs) }];
    const isBusy = calls.some((call) => call.pid === pid && call.at > from - callMs && call.at <= from);
    if (kind === "kill-worker") return isBusy ? [{ from, to: Math.min(next, until + retryMs) }] : [];
    // Frozen during a call of the tree, or when it was given one: no other process can call the tree then.
    const waited = calls.some((call) => call.pid === pid && call.at >= until && call.at < until + callMs);
    return (isBusy || waited) && next >= until ? [{ from, to: until }] : [];
  });
}

const isKillOf = ({ kind, pid }: Disturbance, process: number): boolean =>
  kind === "kill-restate" || (kind === "kill-worker" && pid === process);

interface TreeCall {
  readonly pid: number;
  readonly at: number;
}

const callsByTree = new WeakMap<History["traces"], ReadonlyMap<string, readonly TreeCall[]>>();

/** Returns the calls of a tree's methods in the order of time. */
function callsOf({ traces }: History, tree: string): readonly TreeCall[] {
  const known = callsByTree.get(traces);
  if (known) return known.get(tree) ?? [];
  const calls = traces.flatMap((line) => (line.kind === "method" ? [line] : []));
  const sorted = calls.toSorted((one, other) => one.at - other.at);
  const grouped = Map.groupBy(sorted, (call) => call.tree);
  callsByTree.set(traces, grouped);
  return grouped.get(tree) ?? [];
}
