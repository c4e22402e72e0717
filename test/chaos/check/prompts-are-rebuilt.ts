import type { Disturbance } from "../faults.ts";
import type { History, StepHistory, TreeHistory } from "../history.ts";
import type { Finding, Predicate } from "./predicate.ts";

/**
 * I18: the prompt of every journaled model call can be rebuilt, and equals the one sent. Steps begun while the database
 * was down are not recorded. Non-permanent content may be erased by the time it is read.
 */
export const promptsAreRebuilt: Predicate = {
  id: "I18",
  claim: "the prompt of every journaled model call is built again, as it was sent",
  describeChecked: ({ trees }) => {
    const steps = trees.flatMap((tree) => tree.steps);
    const counts = ["recorded", "erased", "not-recorded"].map(
      (state) => `${steps.filter(({ content }) => content === state).length} ${state}`,
    );
    return `${steps.length} steps: ${counts.join(", ")}`;
  },
  findFaults: (history) => history.trees.flatMap((tree) => findings(history, tree)),
};

function findings({ disturbances }: History, tree: TreeHistory): readonly Finding[] {
  return tree.steps.flatMap((step) => {
    const what = faultOf(step, disturbances);
    return what === null ? [] : [{ where: step.id, what }];
  });
}

function faultOf(step: StepHistory, disturbances: readonly Disturbance[]): string | null {
  const { content, isEqual, isPermanent, at } = step;
  if (content === "recorded") return isEqual ? null : "is built again as something else";
  if (content === "erased") return isPermanent ? "is erased, although it is permanent" : null;
  return wasAway(disturbances, at) ? null : "is not recorded, and the database was there";
}

/** After a restart a killed database is unavailable for a while, until connections are renewed. */
const afterwardsMs = 10_000;
/** A step may have begun long before it was written. */
const beforehandMs = 60_000;

function wasAway(disturbances: readonly Disturbance[], at: number): boolean {
  return disturbances.some(
    ({ kind, from, until }) =>
      kind === "kill-postgres" && from < at + beforehandMs && at < until + afterwardsMs,
  );
}
