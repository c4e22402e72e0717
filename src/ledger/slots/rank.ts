import { Priority } from "#kernel";
import type { Slot } from "../state.ts";

const high = Priority.all.indexOf("high");

type Ranked = Pick<Slot, "priority" | "since" | "order">;

/** How far forward a run stands in line: one level more for each interval it has stood there, never above high. */
function effectiveLevel(slot: Ranked, ageingMs: number, at: number): number {
  const base = Priority.all.indexOf(slot.priority);
  const aged = base + Math.floor(Math.max(0, at - slot.since) / ageingMs);
  return Math.max(base, Math.min(high, aged));
}

/** Sorts those in line: highest effective priority first, then who has stood there longest, then who was hired first. */
export function byRank(ageingMs: number, at: number): (a: Ranked, b: Ranked) => number {
  return (a, b) =>
    effectiveLevel(b, ageingMs, at) - effectiveLevel(a, ageingMs, at) ||
    a.since - b.since ||
    a.order - b.order;
}
