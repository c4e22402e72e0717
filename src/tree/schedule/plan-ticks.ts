import type { CronTicks } from "./cron-ticks.ts";

/** The ticks that start a tree although no worker ran when they were due: every one, the latest one, or none. */
export type CatchUp = "all" | "latest" | "none";

/** How late a tick of a schedule with `catchUp: "none"` may start a tree. */
const onTimeMs = 60_000;

/** Ticks that one call of the object hands over. More are handed over by the next call. */
const ticksPerCall = 100;

/** The ticks to start now. */
export interface TickPlan {
  readonly start: readonly number[];
  /** All ticks up to here are decided. */
  readonly after: number;
}

/** Decides which ticks after `after` start a tree now. */
export function planTicks(
  ticks: CronTicks,
  { catchUp, after, now }: { readonly catchUp: CatchUp; readonly after: number; readonly now: number },
): TickPlan {
  if (now <= after) return { start: [], after };
  if (catchUp === "all") return planAll(ticks, { after, now });
  const latest = ticks.latest({ after, until: now });
  const isStarted = latest !== null && (catchUp === "latest" || now - latest <= onTimeMs);
  return { start: isStarted ? [latest] : [], after: now };
}

function planAll(
  ticks: CronTicks,
  { after, now }: { readonly after: number; readonly now: number },
): TickPlan {
  const start: number[] = [];
  let next = ticks.next(after);
  while (next !== null && next <= now && start.length < ticksPerCall) {
    start.push(next);
    next = ticks.next(next);
  }
  return { start, after: start.at(-1) ?? after };
}
