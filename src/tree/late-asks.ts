import { Json, type RunId } from "#kernel";
import { forgetAsk, timeLeft } from "./asks.ts";
import { lateAsksKey, type LateAsksRecord } from "./state/records.ts";
import type { TreeWork } from "./state/tree-work.ts";

/*
 * Asks that are late at runs that stand still. Waiting is not working: while neither the asked run nor any run below it
 * can make progress, the time of the ask stands still. The run that asks waits without a timer then, and hears from the
 * tree when the time counts again.
 */

type LateAsk = LateAsksRecord[number];

const readLateAsks = (work: TreeWork, to: RunId): LateAsksRecord =>
  Json.as(work.object.get(lateAsksKey(to)) ?? []);

/**
 * Ends an ask whose time is over. Otherwise returns the time that it has left, or null while the asked run stands
 * still: the run that asks then gets an `askGoesOn`.
 */
export function giveUpAsk(work: TreeWork, late: LateAsk): number | null {
  const { leftMs, to } = timeLeft(work, late);
  const slot = to === null ? undefined : work.slot(to);
  if (leftMs === 0 || to === null || !slot) {
    forgetAsk(work, late.from, late.ask);
    return 0;
  }
  if (slot.idleSince === null) return leftMs;
  const others = readLateAsks(work, to).filter(({ ask }) => ask !== late.ask);
  work.object.set(lateAsksKey(to), Json.of([...others, late]));
  if (!slot.hasLateAsks) work.setSlot(to, { ...slot, hasLateAsks: true });
  return null;
}

/** Tells the runs whose asks are late that the asked run goes on. Asks that were answered meanwhile are dropped. */
export function goOn(work: TreeWork, to: RunId): void {
  for (const late of readLateAsks(work, to)) {
    const { leftMs } = timeLeft(work, late);
    if (leftMs > 0) work.push(late.from, { kind: "askGoesOn", ask: late.ask, leftMs });
  }
  work.object.clear(lateAsksKey(to));
}
