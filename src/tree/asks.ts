import { Json, type MessageId, type RunId } from "#kernel";
import { Ledger } from "#ledger";
import { asksKey, type AsksRecord, type LateAsksRecord } from "./state/records.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * The open asks of runs. Each run that asks has one value with its open asks. So an ask reads and writes only its own
 * value, and the search for a cycle reads those of the runs on the way.
 */

const readAsks = (work: TreeWork, run: RunId): AsksRecord => Json.as(work.object.get(asksKey(run)) ?? []);

/** Returns the tree's time without the time in which it had no worker. */
const toWorkingTime = ({ tree, now }: TreeWork): number => Ledger.toWorkingTime(tree.ledger, now);

/** Records that a run waits for the reply of another. Drops asks of runs that have ended. */
export function noteAsk(
  work: TreeWork,
  { id, from, to }: { readonly id: MessageId; readonly from: RunId; readonly to: RunId },
): void {
  const asks = readAsks(work, from);
  work.loadSlots([...asks.map((ask) => ask.to), to]);
  const others = asks.filter((ask) => ask.id !== id && work.slot(ask.to));
  const slot = work.slot(to);
  const at = toWorkingTime(work);
  const idleMs = slot ? Ledger.idleTime(slot, at) : 0;
  work.object.set(asksKey(from), Json.of([...others, { id, to, at, idleMs }]));
}

export function forgetAsk(work: TreeWork, from: RunId, id: MessageId): void {
  const asks = readAsks(work, from);
  const left = asks.filter((ask) => ask.id !== id);
  if (left.length === asks.length) return;
  if (left.length === 0) work.object.clear(asksKey(from));
  else work.object.set(asksKey(from), Json.of(left));
}

/**
 * Returns the time that an ask has left: time in which the asked run stands still does not count. 0 for an ask that is
 * not open.
 */
export function timeLeft(
  work: TreeWork,
  { ask: id, from, timeoutMs }: LateAsksRecord[number],
): { readonly leftMs: number; readonly to: RunId | null } {
  const ask = readAsks(work, from).find((open) => open.id === id);
  const slot = ask && work.slot(ask.to);
  if (!slot) return { leftMs: 0, to: null };
  const now = toWorkingTime(work);
  const stoodStillMs = Ledger.idleTime(slot, now) - ask.idleMs;
  const elapsedMs = now - ask.at - stoodStillMs;
  return { leftMs: Math.max(0, Math.ceil(timeoutMs - elapsedMs)), to: ask.to };
}

/**
 * Returns the runs that would wait on each other if `from` asked `to`. Null if there is no cycle. Visits each run once.
 */
export function cycleOf(work: TreeWork, from: RunId, to: RunId): readonly RunId[] | null {
  const askedBy = new Map<RunId, RunId>([[to, from]]);
  for (let level: readonly RunId[] = [to]; level.length > 0;) {
    if (askedBy.has(from)) return cyclePath(askedBy, from);
    // The runs of one level are loaded together, so a search takes as many round trips as the asks are deep.
    work.object.prefetch(level.map(asksKey));
    const next: RunId[] = [];
    work.loadSlots(level.flatMap((run) => readAsks(work, run).map((ask) => ask.to)));
    for (const run of level)
      for (const ask of readAsks(work, run)) {
        if (askedBy.has(ask.to) || !work.slot(ask.to)) continue;
        askedBy.set(ask.to, run);
        next.push(ask.to);
      }
    level = next;
  }
  return null;
}

/** Returns the cycle: from the run that asks, over those that wait in turn, back to it. */
function cyclePath(askedBy: ReadonlyMap<RunId, RunId>, from: RunId): readonly RunId[] {
  const path = [from];
  for (let run = askedBy.get(from); run && run !== from; run = askedBy.get(run)) path.unshift(run);
  return [from, ...path];
}
