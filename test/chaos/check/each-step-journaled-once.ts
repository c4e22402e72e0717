import type { History } from "../history.ts";
import type { TraceLine } from "../witness/marked-engine.ts";
import type { JournalEntry } from "../witness/journal.ts";
import type { Finding, Predicate } from "./predicate.ts";
import { isRetry } from "./reading.ts";

/**
 * I2: in Restate's journal, no step has two results and no number is missing; in the executions' traces, a step with a
 * result is not recorded again. Records that only state "retry" are not results.
 */
export const eachStepJournaledOnce: Predicate = {
  id: "I2",
  claim: "each step is journaled at most once, without holes",
  check: (history) => ({
    cases: history.journal.length,
    of: "journaled steps",
    findings: [...findInJournals(history), ...findInTraces(history)],
    excused: [],
  }),
};

function findInJournals({ journal }: History): readonly Finding[] {
  const found: Finding[] = [];
  for (const [execution, entries] of Map.groupBy(journal, (entry) => entry.execution)) {
    const numbers = new Set(entries.flatMap(({ name }) => numberOf(name) ?? []));
    const holes = [...numbers].filter((number) => number > 1 && !numbers.has(number - 1));
    if (holes.length > 0 || (numbers.size > 0 && !numbers.has(1)))
      found.push({ where: execution, what: `steps are missing before ${holes.join(", ")}` });
    for (const { name, results } of entries)
      if (results.length > 1) found.push({ where: execution, what: `${name} has ${results.length} results` });
  }
  return found;
}

const numberOf = (name: JournalEntry["name"]): number | null => {
  const number = /:(\d+)$/.exec(name)?.[1];
  return number === undefined ? null : Number(number);
};

type Picked = Extract<TraceLine, { readonly kind: "picked" }>;

function findInTraces({ traces }: History): readonly Finding[] {
  const found: Finding[] = [];
  const steps = traces.filter(
    (line): line is Picked => line.kind === "picked" && / step .*:\d+$/.test(line.operation),
  );
  const byStep = Map.groupBy(steps, ({ run, continuation, epoch, operation }) =>
    [run, continuation, epoch, operation.slice(operation.indexOf(" ") + 1)].join(" "),
  );
  for (const [step, records] of byStep) {
    const results = records.filter(({ record }) => !isRetry(record));
    if (results.length > 1)
      found.push({ where: step, what: `recorded ${records.map(({ record }) => record).join(", ")}` });
  }
  return found;
}
