import type { CampaignOptions } from "../campaign.ts";
import { plan, type Shape, type TreePlan } from "../workload/plan.ts";

/** A small campaign, under the faults of the large one, in which a planted bug cannot hide. */
export interface Trial extends Pick<CampaignOptions, "lanes" | "waitMs"> {
  readonly shape: Shape;
  readonly trees: number;
  /** Overrides for its trees. */
  readonly with?: Partial<TreePlan>;
  /** Whether every second tree has an input from a stranger. Default: none has. */
  readonly hasStrangers?: boolean;
}

const untouched = { acts: [], budget: {} } as const;
/** Trees that never end because of the bug: their lanes go on without them. */
const stuck = { waitMs: 5_000 } as const;

/** By predicate. */
export const trials: Readonly<Record<string, Trial>> = {
  I1: { ...stuck, shape: "preempt", trees: 12, with: untouched },
  I2: { shape: "parallel", trees: 30, with: untouched },
  I3: { shape: "sleep", trees: 30, with: untouched },
  I4: { shape: "team", trees: 12, with: untouched },
  I5: { shape: "parallel", trees: 30, with: untouched },
  I6: { shape: "parallel", trees: 30, with: untouched },
  I7: { shape: "parallel", trees: 30, with: { acts: [], budget: { maxTokens: 50 } } },
  I8: { shape: "parallel", trees: 30, with: untouched },
  I9: { shape: "team", trees: 12, with: { ...untouched, spawn: { maxAgents: 2, allowPreempt: true } } },
  I10: {
    ...stuck,
    shape: "approval",
    trees: 12,
    with: { budget: {}, acts: [{ afterMs: 500, act: { kind: "cancel" } }] },
  },
  I11: { shape: "solo", trees: 30, with: untouched },
  I12: { shape: "solo", trees: 30, with: untouched },
  I13: { shape: "continue", trees: 20, with: untouched },
  I14: { shape: "team", trees: 12, with: untouched },
  I15: { ...stuck, shape: "solo", trees: 12, with: { ...untouched, tenant: "globex" } },
  I16: { shape: "solo", trees: 10, with: { ...untouched, session: "talk-planted" } },
  I17: {
    // In sequence, an untrusted one first, because a turn gets the labels of those before it.
    lanes: 1,
    shape: "solo",
    trees: 10,
    with: { ...untouched, tenant: "globex", session: "talk-planted" },
    hasStrangers: true,
  },
  I18: { shape: "solo", trees: 30, with: untouched },
};

/** The trees of a trial: no two trials have one in common. */
export const trialTrees = (
  predicate: string,
  { shape, trees, with: special, hasStrangers = false }: Trial,
): readonly TreePlan[] =>
  Array.from({ length: trees }, (_, number) => ({
    ...plan(`planted ${predicate}`, number, shape),
    isUntrusted: hasStrangers && number % 2 === 0,
    ...special,
  }));
