import { inLanes } from "../../engines/restate/scenarios/lanes.ts";
import { campaign } from "../campaign.ts";
import { judge } from "../report.ts";
import { openStage } from "../stage/stage.ts";
import { bugs, type PlantedBug } from "./bugs.ts";
import { trials, trialTrees } from "./trials.ts";

/** Whether a planted bug was noticed by the predicate that must. */
export interface Caught {
  readonly bug: PlantedBug;
  readonly isCaught: boolean;
  readonly line: string;
}

const together = 3;

/** Plays a small campaign for each planted bug, on one stage: every predicate must be able to fail. */
export async function tryPlanted(wanted: readonly PlantedBug[] = bugs): Promise<readonly Caught[]> {
  await using stage = await openStage({ seed: "planted", providerFaults: 0.1, effectMs: 1_000 });
  return await inLanes(wanted, together, async (bug): Promise<Caught> => {
    const { predicate, what } = bug;
    const trial = trials[predicate];
    if (!trial) throw new TypeError(`no trial for the bug of ${predicate}`);
    const { history, seconds } = await campaign(stage, {
      ...trial,
      seed: `planted ${predicate}`,
      trees: trialTrees(predicate, trial),
      namespace: `planted-${predicate}`,
      env: { REEVE_PLANTED: predicate },
    });
    const found = judge(history).find(({ id }) => id === predicate)?.findings ?? [];
    const isCaught = found.length > 0;
    const evidence = isCaught ? `caught: ${found[0]?.where} ${found[0]?.what}` : "NOT CAUGHT";
    return { bug, isCaught, line: `${predicate.padEnd(4)} ${what}: ${evidence} (${seconds.toFixed(0)} s)` };
  });
}
