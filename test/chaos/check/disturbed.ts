import type { Disturbance } from "../faults.ts";
import type { History } from "../history.ts";

/** Returns the milliseconds that the machine lost between two moments, to a quarter of a second. */
export function lostMs({ losses }: Pick<History, "losses">, from: number, to: number): number {
  const before = losses.findLast(({ at }) => at <= from)?.ms ?? 0;
  const after = losses.find(({ at }) => at >= to) ?? losses.at(-1);
  return Math.max(0, (after?.ms ?? 0) - before);
}

/**
 * Milliseconds for which a fault still delays runs after its end: Restate waits up to a second before it gives the work
 * of a dead worker to another.
 */
const aftermathMs: Readonly<Record<Disturbance["kind"], number>> = {
  "kill-worker": 1_000,
  "freeze-worker": 0,
  "kill-restate": 1_000,
  "kill-postgres": 0,
};

/** Returns the milliseconds between two moments in which something was dead, frozen or down. */
export function disturbedMs(
  { disturbances }: Pick<History, "disturbances">,
  from: number,
  to: number,
): number {
  let covered = from;
  let total = 0;
  for (const disturbance of disturbances) {
    if (disturbance.kind === "kill-postgres") continue;
    const begin = Math.max(disturbance.from, covered);
    const end = Math.min(disturbance.until + aftermathMs[disturbance.kind], to);
    if (end <= begin) continue;
    total += end - begin;
    covered = end;
  }
  return total;
}
