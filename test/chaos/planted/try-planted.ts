import { inLanes } from "../../engines/restate/scenarios/lanes.ts";
import { campaign } from "../campaign.ts";
import { judge } from "../report.ts";
import { openStage } from "../stage/stage.ts";
import type { PlantedBug } from "./bugs.ts";
import { trials, trialTrees } from "./trials.ts";

/** Whether a trial ended as it must: with its bug, the predicate breaks; without it, the predicate holds. */
interface Tried {
  readonly isRight: boolean;
  readonly line: string;
}

const together = 2;

/**
 * Plays a small campaign with all faults for each planted bug, each on a stage of its own: every predicate must be able
 * to fail although faults excuse a part of its cases. With `isControl`, the bugs are left out, and every predicate must
 * hold: what a trial catches is the bug, not the faults. Returns for each trial whether it ended as it must.
 */
export async function tryPlanted(
  wanted: readonly PlantedBug[],
  { isControl = false, say }: { readonly isControl?: boolean; readonly say: (line: string) => void },
): Promise<readonly boolean[]> {
  return await inLanes(wanted, together, async (bug) => {
    const { isRight, line } = await tryOne(bug, isControl);
    say(line);
    return isRight;
  });
}

async function tryOne({ predicate, what }: PlantedBug, isControl: boolean): Promise<Tried> {
  const trial = trials[predicate];
  if (!trial) throw new TypeError(`no trial for the bug of ${predicate}`);
  const seed = `planted ${predicate}`;
  await using stage = await openStage({ seed, providerFaults: 0.1 });
  const { history, seconds } = await campaign(stage, {
    lanes: 6,
    calmMs: 30_000,
    ...trial,
    seed,
    trees: trialTrees(predicate, trial),
    ...(!isControl && { env: { REEVE_PLANTED: predicate } }),
  });
  const found = judge(history).find(({ id }) => id === predicate)?.findings ?? [];
  const evidence = found.length > 0 ? `${found[0]?.where} ${found[0]?.what}` : "nothing";
  const isRight = found.length > 0 !== isControl;
  const bug = isControl ? "without its bug" : what;
  const faults = `${history.disturbances.length} faults, ${seconds.toFixed(0)} s`;
  const verdict = isRight ? "found" : "WRONG, found";
  return { isRight, line: `${predicate.padEnd(4)} ${bug}: ${verdict} ${evidence} (${faults})` };
}
