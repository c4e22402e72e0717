import type { History } from "../history.ts";
import type { TraceLine } from "../witness/marked-engine.ts";
import type { Finding, Predicate } from "./predicate.ts";

type Picked = Extract<TraceLine, { readonly kind: "picked" }>;

/**
 * I14: every execution of a run, in any worker, requested the same operations in the same order and got the same
 * answers, as far as each got; no worker saw code diverge from its journal; Restate has paused no execution for it.
 */
export const replayRepeats: Predicate = {
  id: "I14",
  claim: "replays ask for the same steps and get the same answers",
  check: (history) => {
    const picked = pickTraces(history.traces);
    const executions = new Set(
      picked.map(({ run, continuation, epoch }) => `${run} ${continuation} ${epoch}`),
    );
    const journals = new Set(picked.map(({ run, continuation }) => `${run} ${continuation}`));
    return {
      cases: executions.size,
      of: `executions of ${journals.size} journals`,
      findings: [
        ...findDifferences(history),
        ...history.divergences.map((line) => ({ where: "a worker's log", what: line })),
        ...history.stopped.map((execution) => ({ where: execution, what: "stopped by Restate" })),
      ],
      excused: [],
    };
  },
};

const pickTraces = (traces: readonly TraceLine[]): readonly Picked[] =>
  traces.filter((line): line is Picked => line.kind === "picked");

function findDifferences({ traces }: History): readonly Finding[] {
  const found: Finding[] = [];
  const byPlace = Map.groupBy(
    pickTraces(traces),
    ({ run, continuation, index }) => `${run} ${continuation} #${index}`,
  );
  for (const [where, lines] of byPlace) {
    const kinds = new Set(lines.map(({ operation, answer }) => `${operation} -> ${answer}`));
    if (kinds.size > 1) found.push({ where, what: [...kinds].join(" or ") });
  }
  return found;
}
