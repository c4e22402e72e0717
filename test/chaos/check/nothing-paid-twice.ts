import type { History } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { isRetry, markOf, only } from "./reading.ts";

/**
 * I3: no call begins for a step whose result is journaled. One kind of call cannot be prevented: its execution had
 * passed the gate, was frozen or lost its connection, and was overtaken by another execution. That call is reserved,
 * made once, and nothing follows it.
 */
export const nothingPaidTwice: Predicate = {
  id: "I3",
  claim: "no call is sent for a step that was journaled",
  describeChecked: (history) =>
    `${history.bill.length} calls, ${findLateCalls(history).length} of executions that were overtaken`,
  findFaults: (history) =>
    findCallsAfterJournal(history)
      .filter((call) => !wasOvertaken(history, call))
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
  /** Whether it is not the first call of its attempt. */
  readonly isRepeated: boolean;
}

const findLateCalls = (history: History): readonly LateCall[] =>
  findCallsAfterJournal(history).filter((call) => wasOvertaken(history, call));

function findCallsAfterJournal(history: History): readonly LateCall[] {
  const journaled = journaledTimes(history);
  const results = resultingAttempts(history);
  const seen = new Set<string>();
  return history.bill.flatMap((entry) => {
    const { step, attempt } = markOf(entry);
    const isRepeated = seen.has(attempt);
    seen.add(attempt);
    // The call whose answer is the result precedes it, even if two clocks differ by milliseconds.
    if (results.has(attempt) && !isRepeated) return [];
    const journaledAt = journaled.get(step) ?? Infinity;
    return entry.at > journaledAt ? [{ step, attempt, at: entry.at, journaledAt, isRepeated }] : [];
  });
}

/** Returns the attempts whose answers were journaled. */
const resultingAttempts = ({ trees }: History): Set<string> =>
  new Set(
    trees
      .flatMap((tree) => only(tree, "model.end"))
      .flatMap(({ attempt, error }) => (attempt === null || error ? [] : [attempt])),
  );

/** When each step got its last result. A record that only states "retry" is none. */
function journaledTimes({ journal, traces }: History): ReadonlyMap<string, number> {
  const launches = new Map(
    traces.flatMap((line) => (line.kind === "launched" ? [[line.execution, line] as const] : [])),
  );
  const retried = countRetries(traces);
  const times = new Map<string, number>();
  for (const [execution, entries] of Map.groupBy(journal, (entry) => entry.execution)) {
    const launch = launches.get(execution);
    if (!launch) continue;
    for (const [name, named] of Map.groupBy(entries, (entry) => entry.name)) {
      const [kind = "", number = ""] = name.split(":");
      const place = launch.continuation === 0 ? kind : `${kind}@${launch.continuation}`;
      const step = `${launch.run}:${place}:${number}`;
      const retries = retried.get([launch.run, launch.continuation, name].join(" ")) ?? 0;
      // A step is recorded under one name until it has its result, so the retries are its first entries.
      for (const result of named.slice(retries).flatMap(({ results }) => results))
        times.set(step, Math.max(result, times.get(step) ?? 0));
    }
  }
  return times;
}

/** Returns how many records of each step state "retry", by run, continuation and name. */
function countRetries(traces: History["traces"]): ReadonlyMap<string, number> {
  const operations = new Map<string, Set<string>>();
  for (const line of traces) {
    if (line.kind !== "picked" || !isRetry(line.record)) continue;
    const [order = "", , name = ""] = line.operation.split(" ");
    const key = [line.run, line.continuation, name].join(" ");
    operations.set(key, (operations.get(key) ?? new Set()).add(order));
  }
  return new Map([...operations].map(([key, orders]) => [key, orders.size]));
}

/** Whether it passed the gate in time, and is the only call of its attempt. */
function wasOvertaken({ trees }: History, { attempt, journaledAt, isRepeated }: LateCall): boolean {
  const reserved = trees
    .flatMap((tree) => only(tree, "budget.reserved"))
    .find((event) => event.attempt === attempt);
  return !isRepeated && reserved !== undefined && reserved.at <= journaledAt;
}
