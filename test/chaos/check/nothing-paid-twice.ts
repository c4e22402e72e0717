import type { History } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { markOf } from "./reading.ts";

/**
 * I3: no call is made for a step whose result is in the journal. A worker that was frozen between the gate and its
 * call may make that one call when it wakes: it had begun. It stays reserved, and nothing follows it.
 */
export const nothingPaidTwice: Predicate = {
  id: "I3",
  claim: "no call is sent for a step that was journaled",
  looked: ({ bill }) => `${bill.length} calls`,
  findings,
};

function findings(history: History): readonly Finding[] {
  const journaled = journaledAt(history);
  return history.bill.flatMap((entry) => {
    const { step } = markOf(entry);
    const at = journaled.get(step);
    if (at === undefined || entry.at <= at || wasFrozen(history, entry.at)) return [];
    return [{ where: step, what: `journaled, and called again ${entry.at - at} ms later` }];
  });
}

/** When each step got its last result. */
function journaledAt({ journal, traces }: History): ReadonlyMap<string, number> {
  const launches = new Map(
    traces.flatMap((line) =>
      line.kind === "launched"
        ? [[line.execution, { run: line.run, continuation: line.continuation }] as const]
        : [],
    ),
  );
  const times = new Map<string, number>();
  for (const { execution, name, results } of journal) {
    const launch = launches.get(execution);
    const last = results.at(-1);
    if (!launch || last === undefined) continue;
    const [kind = "", number = ""] = name.split(":");
    const place = launch.continuation === 0 ? kind : `${kind}@${launch.continuation}`;
    const step = `${launch.run}:${place}:${number}`;
    times.set(step, Math.max(last, times.get(step) ?? 0));
  }
  return times;
}

/** Was somebody woken just before? */
function wasFrozen({ disturbances }: History, at: number): boolean {
  return disturbances.some(
    ({ kind, from, until }) => kind === "freeze-worker" && from <= at && at <= until + 250,
  );
}
