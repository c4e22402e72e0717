import type { History } from "../history.ts";
import type { Effect } from "../witness/effect-sink.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { only, treeOf } from "./reading.ts";

/**
 * I8: an effect requested once by a model is applied once, under one key; it is delivered again only if something was
 * killed, frozen or down; and a tool that reports an unknown outcome is never delivered again.
 */
export const effectsAppliedOnce: Predicate = {
  id: "I8",
  claim: "each effect is applied once, and brought again only around a crash",
  describeChecked: ({ effects }) =>
    `${effects.length} deliveries of ${effects.filter(({ applied }) => applied).length} effects`,
  findFaults: (history) => [
    ...[...Map.groupBy(history.effects, ({ order }) => order).values()].flatMap((deliveries) =>
      findings(history, deliveries),
    ),
    ...findMissingEffects(history),
  ],
};

function findings({ disturbances, trees }: History, deliveries: readonly Effect[]): readonly Finding[] {
  const [first] = deliveries;
  const last = deliveries.at(-1);
  if (!first || !last) return [];
  const where = first.key;
  const applied = deliveries.filter((effect) => effect.applied).length;
  const found: Finding[] = [];
  if (applied !== 1) found.push({ where, what: `applied ${applied} times` });
  const extra = deliveries.length - 1;
  if (first.tool === "mail" && extra > 0)
    found.push({ where, what: `brought ${extra} times too often without a decision` });
  const begun = gateTimeOf(trees, first);
  const hits = disturbances.filter(
    ({ from, until }) => until >= begun - 100 && from <= last.startedAt,
  ).length;
  if (extra > hits) found.push({ where, what: `brought ${extra} times again, but only ${hits} crashes` });
  return found;
}

/** Returns when it passed the gate: an execution frozen there arrives much later. */
function gateTimeOf(trees: History["trees"], { run, attempt, startedAt }: Effect): number {
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
