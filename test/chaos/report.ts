import type { Finding } from "./check/predicate.ts";
import { predicates } from "./check/predicates.ts";
import type { Campaign } from "./campaign.ts";
import { boundBy, isFull, pessimism } from "./check/pressure.ts";
import type { History } from "./history.ts";

/** The result of a predicate. */
export interface Verdict {
  readonly id: string;
  readonly line: string;
  readonly findings: readonly Finding[];
}

/** Asks every predicate. */
export function judge(history: History): readonly Verdict[] {
  return predicates.map(({ id, claim, findFaults, describeChecked }) => {
    const found = findFaults(history);
    const verdict = found.length === 0 ? "holds" : `BROKEN ${found.length} times`;
    return {
      id,
      line: `${id.padEnd(4)} ${verdict}: ${claim} (${describeChecked(history)})`,
      findings: found,
    };
  });
}

/** The least share of trees that must meet a cap, and that must fill their headcount: else little was tried. */
const leastPressure = 0.3;

/** Whether the campaign was hard enough to be conclusive. */
export function isHard({ trees }: History): boolean {
  const bound = trees.filter((tree) => boundBy(tree) !== null).length;
  return Math.min(bound, trees.filter(isFull).length) >= leastPressure * trees.length;
}

/** Describes the faults of the campaign and its difficulty. */
export function circumstances({ history, seconds, resumptions, resumed }: Campaign): readonly string[] {
  const { disturbances, trees, bill } = history;
  const count = (kind: string): number => disturbances.filter((each) => each.kind === kind).length;
  const faulty = bill.filter(({ outcome }) => outcome !== "answered").length;
  const bound = trees.filter((tree) => boundBy(tree) !== null).length;
  const full = trees.filter(isFull).length;
  const { inDoubt, spend } = pessimism(history);
  return [
    `${seconds.toFixed(0)} s; killed: workers ${count("kill-worker")}, Restate ${count("kill-restate")}, PostgreSQL ${count("kill-postgres")}; frozen: workers ${count("freeze-worker")}`,
    `provider faults ${faulty} of ${bill.length} calls (${share(faulty, bill.length)}); subscribers resumed ${resumptions}; runs held and let go on ${resumed}`,
    `a cap bound ${bound} of ${trees.length} trees (${share(bound, trees.length)}); headcount full in ${full} (${share(full, trees.length)})`,
    `in doubt ${inDoubt} of ${spend} micro-dollars booked (${share(inDoubt, spend)})`,
  ];
}

const share = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(1, whole))} %`;
