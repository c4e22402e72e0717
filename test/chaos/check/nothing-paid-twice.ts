import type { History } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { markOf, only } from "./reading.ts";

/**
 * I3: no call is made for a step whose result is in the journal. There is one call that nobody can take back: its
 * worker passed the gate before, was frozen, and woke after somebody else had made the step. It had begun, it is
 * reserved, and nothing follows it.
 */
export const nothingPaidTwice: Predicate = {
  id: "I3",
  claim: "no call is sent for a step that was journaled",
  looked: (history) => `${history.bill.length} calls, ${late(history).length} of workers that woke too late`,
  findings: (history) =>
    afterTheirJournal(history)
      .filter((call) => !wasFrozen(history, call))
      .map(({ step, at, journaledAt }): Finding => ({
        where: step,
        what: `journaled, and called again ${at - journaledAt} ms later`,
      })),
};

/** A call that arrived after its step had been journaled. */
interface LateCall {
  readonly step: string;
  readonly attempt: string;
  readonly at: number;
  readonly journaledAt: number;
}

const late = (history: History): readonly LateCall[] =>
  afterTheirJournal(history).filter((call) => wasFrozen(history, call));

function afterTheirJournal(history: History): readonly LateCall[] {
  const journaled = journaledTimes(history);
  const results = resultingAttempts(history);
  return history.bill.flatMap((entry) => {
    const { step, attempt } = markOf(entry);
    // The call whose answer is the result came before it, whatever two clocks say of milliseconds. Once.
    if (results.delete(attempt)) return [];
    const journaledAt = journaled.get(step) ?? Infinity;
    return entry.at > journaledAt ? [{ step, attempt, at: entry.at, journaledAt }] : [];
  });
}

/** The attempts whose answers were journaled. */
const resultingAttempts = ({ trees }: History): Set<string> =>
  new Set(
    trees
      .flatMap((tree) => only(tree, "model.end"))
      .flatMap(({ attempt, error }) => (attempt === null || error ? [] : [attempt])),
  );

/** When each step got its last result. */
function journaledTimes({ journal, traces }: History): ReadonlyMap<string, number> {
  const launches = new Map(
    traces.flatMap((line) => (line.kind === "launched" ? [[line.execution, line] as const] : [])),
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

/** Did it pass the gate in time, and then sleep? */
function wasFrozen({ trees, disturbances }: History, { attempt, at, journaledAt }: LateCall): boolean {
  const reserved = trees
    .flatMap((tree) => only(tree, "budget.reserved"))
    .find((event) => event.attempt === attempt);
  if (!reserved || reserved.at > journaledAt) return false;
  return disturbances.some(
    ({ kind, from, until }) => kind === "freeze-worker" && from <= at && until >= reserved.at,
  );
}
