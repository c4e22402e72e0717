import type { History } from "../history.ts";
import { stepId } from "../witness/marked-engine.ts";
import { isRetry } from "./reading.ts";

/** Returns when each step got its last result. A record that only states "retry" is none. */
export function journaledTimes(history: History): ReadonlyMap<string, number> {
  const times = known.get(history) ?? readTimes(history);
  known.set(history, times);
  return times;
}

const known = new WeakMap<History, ReadonlyMap<string, number>>();

function readTimes({ journal, traces }: History): ReadonlyMap<string, number> {
  const launches = new Map(
    traces.flatMap((line) => (line.kind === "launched" ? [[line.execution, line] as const] : [])),
  );
  const retried = countRetries(traces);
  const times = new Map<string, number>();
  for (const [execution, entries] of Map.groupBy(journal, (entry) => entry.execution)) {
    const launch = launches.get(execution);
    if (!launch) continue;
    const { run: runId, continuation } = launch;
    for (const [name, named] of Map.groupBy(entries, (entry) => entry.name)) {
      const step = stepId({ runId, continuation }, name);
      const retries = retried.get([runId, continuation, name].join(" ")) ?? 0;
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
