import type { History } from "../history.ts";
import type { Effect } from "../witness/effect-sink.ts";
import { hits } from "./executions.ts";
import { journaledTimes } from "./journaled-times.ts";
import type { Checked, Finding, Predicate } from "./predicate.ts";
import { only, treeOf } from "./reading.ts";

/**
 * I8: an effect requested once by a model is applied once, under one key; a tool that reports an unknown outcome is
 * never delivered again. Others are delivered again only by another execution of their run, before the outcome was
 * journaled, because a fault hit the process that had delivered them, or Restate.
 */
export const effectsAppliedOnce: Predicate = {
  id: "I8",
  claim: "each effect is applied once, and brought again only if a fault hit the process that brought it",
  check: (history) => {
    const orders = Map.groupBy(history.effects, ({ order }) => order);
    const journaled = journaledTimes(history);
    const checked = [...orders.values()].map((deliveries) => checkOrder(history, journaled, deliveries));
    return {
      cases: orders.size,
      of: `effects, ${history.effects.length} deliveries`,
      findings: [...checked.flatMap(({ findings }) => findings), ...findMissingEffects(history)],
      excused: checked.flatMap(({ excused }) => excused),
    };
  },
};

function checkOrder(
  history: History,
  journaled: ReadonlyMap<string, number>,
  deliveries: readonly Effect[],
): Pick<Checked, "findings" | "excused"> {
  const [first, ...again] = deliveries;
  if (!first) return { findings: [], excused: [] };
  const where = first.key;
  const findings: Finding[] = [];
  const applied = deliveries.filter((effect) => effect.applied).length;
  if (applied !== 1) findings.push({ where, what: `applied ${applied} times` });
  if (first.tool === "mail" && again.length > 0)
    findings.push({ where, what: `brought ${again.length} times too often without a decision` });
  const causes = again.map((next, index) => {
    const before = deliveries[index] ?? first;
    const journaledAt = journaled.get(next.step) ?? Infinity;
    if (next.epoch === before.epoch) return "by the same execution";
    if (gateTimeOf(history, next) > journaledAt) return "after its outcome was journaled";
    const window = { from: gateTimeOf(history, before), to: next.startedAt };
    const isHit = history.disturbances.some((fault) => hits(fault, before.pid, window));
    return isHit ? null : "although no fault hit its process";
  });
  for (const cause of causes) if (cause !== null) findings.push({ where, what: `brought again ${cause}` });
  const isExcused = again.length > 0 && findings.length === 0;
  return { findings, excused: isExcused ? [{ where, what: `brought ${again.length} times again` }] : [] };
}

/** Returns when it passed the gate: an execution frozen there arrives much later. */
function gateTimeOf({ trees }: History, { run, attempt, startedAt }: Effect): number {
  if (attempt === null) return startedAt;
  const tree = trees.find(({ plan }) => plan.id === treeOf(run));
  const event = tree && only(tree, "tool.start").find((begun) => begun.attempt === attempt);
  return Math.min(startedAt, event?.at ?? Infinity);
}

/** A tool that reported success to its run must have reached the sink. */
function findMissingEffects({ trees, effects }: History): readonly Finding[] {
  const came = Map.groupBy(effects, ({ run }) => run);
  return trees.flatMap(({ events }) => {
    const done = new Map<string, number>();
    for (const event of events)
      if (event.type === "tool.end" && event.status === "ok" && !event.tool.startsWith("ask_"))
        done.set(event.runId, (done.get(event.runId) ?? 0) + 1);
    return [...done].flatMap(([run, count]) => {
      const applied = (came.get(run) ?? []).filter((effect) => effect.applied).length;
      return applied < count ? [{ where: run, what: `${count} tools ended well, ${applied} effects` }] : [];
    });
  });
}
