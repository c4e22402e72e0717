import { sum } from "../check/reading.ts";
import { campaign } from "../campaign.ts";
import { openStage, refusals } from "../stage/stage.ts";
import { plans, type TreePlan } from "../workload/plan.ts";
import { reconcileAll } from "./reconcile-all.ts";

/** Maximum share of booked cost that may be in doubt, in per cent, when a tenth of all calls is refused. */
const most = 3;

/**
 * Whether no call of the tree is cut off in flight. Cancels and preemption put the calls they cut in doubt, and how
 * many calls are in flight depends on the speed of the machine, not on the provider.
 */
const endsByItself = ({ shape, acts }: TreePlan): boolean =>
  shape !== "preempt" && !acts.some(({ act }) => act.kind === "cancel");

/** Measures the cost in doubt when a tenth of all calls fails and no worker is killed, and whether the bill clears it. */
export async function pessimism(
  trees: number,
): Promise<{ readonly line: string; readonly isRight: boolean }> {
  const refused = await measure(trees, refusals);
  const garbled = await measure(trees, undefined);
  const isRight =
    refused.percent <= most && [refused, garbled].every(({ left, isEqual }) => left === 0 && isEqual);
  const line =
    `in doubt at 10 % provider faults: ${refused.percent} % of what is booked where calls are refused (at most ${most}), ` +
    `${garbled.percent} % where half of the faults are billed and lost; after reconciling ${refused.left} and ${garbled.left}: ${isRight ? "holds" : "BROKEN"}`;
  return { line, isRight };
}

interface Measured {
  readonly percent: number;
  /** Micro-dollars in doubt after reconciling. */
  readonly left: number;
  /** Whether the settled amounts then equal the bill. */
  readonly isEqual: boolean;
}

async function measure(trees: number, mishaps: typeof refusals | undefined): Promise<Measured> {
  const seed = "pessimism";
  await using stage = await openStage({ seed, providerFaults: 0.1, ...(mishaps && { mishaps }) });
  let measured: Measured = { percent: 0, left: 0, isEqual: false };
  await campaign(stage, {
    seed,
    trees: plans(seed).filter(endsByItself).take(trees),
    faults: [],
    workers: 2,
    onEnd: async (client, played) => {
      const { before, after, billed } = await reconcileAll(
        client,
        { bill: stage.double.bill.entries },
        played,
      );
      const booked = sum([before.settled, before.inDoubt]).costMicros;
      const percent = Math.round((1_000 * before.inDoubt.costMicros) / booked) / 10;
      measured = {
        percent,
        left: after.inDoubt.costMicros,
        isEqual: after.settled.costMicros === billed.costMicros,
      };
    },
  });
  return measured;
}
