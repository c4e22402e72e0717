import { setTimeout as delay } from "node:timers/promises";
import { chance } from "../../src/testing/fake-provider/chance.ts";
import type { Crew } from "./stage/crew.ts";
import type { Stage } from "./stage/stage.ts";

/** Something done to a process of the campaign. */
export type Fault =
  | { readonly kind: "kill-worker"; readonly worker: number }
  | { readonly kind: "freeze-worker"; readonly worker: number; readonly ms: number }
  | { readonly kind: "kill-restate"; readonly downMs: number }
  | { readonly kind: "kill-postgres"; readonly downMs: number };

/** One entry of the schedule: an action, and its delay after the previous one of its kind. */
interface Scheduled {
  readonly afterMs: number;
  readonly fault: Fault;
}

/** An executed fault and its duration. */
export interface Disturbance {
  readonly kind: Fault["kind"];
  readonly from: number;
  readonly until: number;
  /** The process that was killed or frozen. */
  readonly pid: number;
}

type Dice = ReturnType<typeof chance>;

/** The interval of each kind in milliseconds, and its action. */
const kinds: Readonly<
  Record<Fault["kind"], { readonly every: readonly [number, number]; readonly draw: (dice: Dice) => Fault }>
> = {
  "kill-worker": {
    every: [250, 2_000],
    draw: (dice) => ({ kind: "kill-worker", worker: dice.integer(0, 5) }),
  },
  "freeze-worker": {
    every: [4_000, 12_000],
    draw: (dice) => ({ kind: "freeze-worker", worker: dice.integer(0, 5), ms: dice.integer(300, 2_500) }),
  },
  "kill-restate": {
    every: [5_000, 20_000],
    draw: (dice) => ({ kind: "kill-restate", downMs: dice.integer(0, 500) }),
  },
  "kill-postgres": {
    every: [15_000, 40_000],
    draw: (dice) => ({ kind: "kill-postgres", downMs: dice.integer(0, 2_000) }),
  },
};

/** The names of all kinds of faults. */
export const faultKinds = ["kill-worker", "freeze-worker", "kill-restate", "kill-postgres"] as const;

/** The faults of one kind, without end. The same seed gives the same schedule. */
function* schedule(seed: string, kind: Fault["kind"]): Generator<Scheduled, never> {
  const dice = chance(`${seed} ${kind}`);
  const { every, draw } = kinds[kind];
  for (;;) yield { afterMs: dice.integer(...every), fault: draw(dice) };
}

/** The targets of faults. */
type Victims = Pick<Stage, "restate" | "postgres"> & { readonly crew: Crew };

/** Injects faults according to the schedule until stopped. Resolves when everything is up again. */
export async function inject(
  victims: Victims,
  { seed, kinds: wanted, stop }: { seed: string; kinds: readonly Fault["kind"][]; stop: AbortSignal },
): Promise<readonly Disturbance[]> {
  const done: Disturbance[] = [];
  const play = async (kind: Fault["kind"]): Promise<void> => {
    for (const { afterMs, fault } of schedule(seed, kind)) {
      await delay(afterMs, undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      const from = Date.now();
      const pid = await disturb(victims, fault);
      if (pid !== null) done.push({ kind, from, until: Date.now(), pid });
    }
  };
  await Promise.all(wanted.map(play));
  return done.toSorted((one, other) => one.from - other.from);
}

/** Returns the process that was hit; null: there was none to spare. */
async function disturb({ crew, restate, postgres }: Victims, fault: Fault): Promise<number | null> {
  switch (fault.kind) {
    case "kill-worker":
      return crew.kill(fault.worker);
    case "freeze-worker":
      return crew.freeze(fault.worker, fault.ms);
    case "kill-restate": {
      const { pid } = restate;
      await restate.kill();
      await delay(fault.downMs);
      await restate.restart();
      return pid;
    }
    case "kill-postgres":
      await postgres.kill();
      await delay(fault.downMs);
      await postgres.restart();
      return 0;
  }
}
