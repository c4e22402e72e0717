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

/**
 * The largest share of its cases that a predicate may excuse: with more, it says little. Excuses come in clusters, since
 * one restart of PostgreSQL excuses every step of its time: in a small campaign the share is reported, and holds nothing.
 */
const maxExcusedShare = 0.1;
/** Runs of a campaign that is large enough for its shares to be exact. */
const largeCampaign = 450;

/** Asks every predicate. One that excuses too many of its cases does not hold. */
export function judge(history: History): readonly Verdict[] {
  const isLarge = countRuns(history) >= largeCampaign;
  return predicates.map(({ id, claim, check }) => {
    const { cases, of, findings: broken, excused } = check(history);
    const excuses = `${excused.length} excused (${share(excused.length, cases)})`;
    const isTooMuch = isLarge && excused.length > maxExcusedShare * cases;
    const findings = isTooMuch ? [...broken, { where: id, what: `${excuses} of ${cases}` }] : broken;
    const verdict = findings.length === 0 ? "holds" : `BROKEN ${findings.length} times`;
    return { id, line: `${id.padEnd(4)} ${verdict}: ${claim} (${cases} ${of}; ${excuses})`, findings };
  });
}

const countRuns = ({ trees }: History): number => trees.flatMap((tree) => tree.runs).length;

/** The most by which chance changes a number: three times its standard deviation. */
const byChance = (expected: number): number => 3 * Math.sqrt(expected);

/**
 * The least that a campaign must have, so that it says something: trees that met a cap and that filled their headcount, as shares
 * of all, and faults for each run. A campaign with fewer than `exactFrom` runs may have less by chance.
 */
const least = {
  bound: { share: 0.3, exactFrom: 2_000 },
  full: { share: 0.3, exactFrom: 2_000 },
  kills: { share: 0.39, exactFrom: largeCampaign },
  freezes: { share: 0.027, exactFrom: largeCampaign },
} as const;

/** Describes what made the campaign too easy to be conclusive. Null: it was hard enough. */
export function findTooEasy(history: History): string | null {
  const { trees, disturbances } = history;
  const runs = countRuns(history);
  const freezes = disturbances.filter(({ kind }) => kind === "freeze-worker").length;
  const counts: Readonly<Record<keyof typeof least, readonly [count: number, of: number]>> = {
    bound: [trees.filter((tree) => boundBy(tree) !== null).length, trees.length],
    full: [trees.filter(isFull).length, trees.length],
    kills: [disturbances.length - freezes, runs],
    freezes: [freezes, runs],
  };
  for (const name of ["bound", "full", "kills", "freezes"] as const) {
    const [count, of] = counts[name];
    const expected = least[name].share * of;
    if (count < expected - (runs >= least[name].exactFrom ? 0 : byChance(expected)))
      return `${name}: ${count} of ${of}, expected ${expected}`;
  }
  return null;
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
