import type { CampaignOptions } from "../campaign.ts";
import { plan, type Shape, type TreePlan } from "../workload/plan.ts";

/** A small campaign in which a planted bug cannot hide. */
export interface Trial extends Pick<CampaignOptions, "faults" | "workers" | "lanes" | "waitMs" | "calmMs"> {
  readonly shape: Shape;
  readonly trees: number;
  /** Overrides for its trees. */
  readonly with?: Partial<TreePlan>;
  /** Whether every second tree has an input from a stranger. Default: none has. */
  readonly hasStrangers?: boolean;
}

const calm = { faults: [], workers: 1, waitMs: 8_000, calmMs: 3_000 } as const;
const kills = { ...calm, faults: ["kill-worker"], workers: 2 } as const;
const untouched = { acts: [], budget: {} } as const;

/** By predicate. */
export const trials: Readonly<Record<string, Trial>> = {
  I1: { ...calm, waitMs: 3_000, calmMs: 1_000, shape: "preempt", trees: 1, with: untouched },
  I2: { ...calm, shape: "parallel", trees: 1, with: untouched },
  I3: { ...calm, shape: "sleep", trees: 3, with: untouched },
  I4: { ...calm, shape: "team", trees: 6, with: untouched },
  I5: { ...calm, shape: "parallel", trees: 2, with: untouched },
  I6: { ...calm, shape: "parallel", trees: 2, with: untouched },
  I7: { ...calm, shape: "parallel", trees: 2, with: { acts: [], budget: { maxTokens: 50 } } },
  I8: { ...calm, shape: "parallel", trees: 2, with: untouched },
  I9: {
    ...calm,
    shape: "team",
    trees: 3,
    with: { ...untouched, spawn: { maxAgents: 2, allowPreempt: true } },
  },
  I10: {
    ...calm,
    waitMs: 3_000,
    calmMs: 1_000,
    shape: "approval",
    trees: 1,
    with: { budget: {}, acts: [{ afterMs: 500, act: { kind: "cancel" } }] },
  },
  I11: { ...calm, shape: "solo", trees: 2, with: untouched },
  I12: { ...calm, shape: "solo", trees: 2, with: untouched },
  I13: { ...calm, shape: "continue", trees: 1, with: untouched },
  I14: { ...kills, shape: "team", trees: 6, with: untouched },
  I15: {
    ...calm,
    waitMs: 3_000,
    calmMs: 1_000,
    shape: "solo",
    trees: 2,
    with: { ...untouched, tenant: "globex" },
  },
  I16: {
    ...calm,
    waitMs: 60_000,
    shape: "solo",
    trees: 3,
    with: { ...untouched, session: "talk-planted" },
  },
  I17: {
    ...calm,
    // In sequence: the untrusted one first. Twice, because the provider may fail one of them.
    lanes: 1,
    shape: "solo",
    trees: 4,
    with: { ...untouched, tenant: "globex", session: "talk-planted" },
    hasStrangers: true,
  },
  I18: { ...calm, shape: "solo", trees: 2, with: untouched },
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
