import type { CronTicks } from "./cron-ticks.ts";

/** The missed ticks that still start a tree, if no worker ran when they were due: all, the latest, or none. */
export type CatchUp = "all" | "latest" | "none";

/** Maximum delay of a tick that starts a tree under `catchUp: "none"`. */
const onTimeMs = 60_000;

/** Maximum number of ticks that one call hands over. The next call hands over more. */
const ticksPerCall = 100;

/** The ticks to start now. */
export interface TickPlan {
  readonly start: readonly number[];
  /** All ticks up to this moment are decided. */
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
