import { Priority } from "#kernel";
import type { Slot } from "../state.ts";

const high = Priority.all.indexOf("high");

type RankKey = Pick<Slot, "priority" | "since" | "order">;

/** Returns the effective priority of a queued run: one level more for each interval it has waited, never above high. */
function effectiveLevel(slot: RankKey, ageingMs: number, at: number): number {
  const base = Priority.all.indexOf(slot.priority);
  const aged = base + Math.floor(Math.max(0, at - slot.since) / ageingMs);
  return Math.max(base, Math.min(high, aged));
}

/**
 * Returns a comparator of queue entries: highest effective priority first, then the longest wait, then the earliest
 * spawn.
 */
export function byRank(ageingMs: number, at: number): (a: RankKey, b: RankKey) => number {
  return (a, b) =>
    effectiveLevel(b, ageingMs, at) - effectiveLevel(a, ageingMs, at) ||
    a.since - b.since ||
    a.order - b.order;
}
