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

/** One entry of the schedule: a fault, and how many more runs are accepted after the last one of its kind. */
interface Scheduled {
  readonly afterRuns: number;
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

/**
 * For each kind: the number of runs from one fault to the next, the least time between them in milliseconds, and the
 * fault. Runs, not seconds: a machine of any speed gives each run the same share of faults.
 */
const kinds: Readonly<
  Record<
    Fault["kind"],
    {
      readonly everyRuns: readonly [number, number];
      readonly restMs: number;
      readonly draw: (dice: Dice) => Fault;
    }
  >
> = {
  "kill-worker": {
    everyRuns: [1, 5],
    restMs: 250,
    draw: (dice) => ({ kind: "kill-worker", worker: dice.integer(0, 5) }),
  },
  "freeze-worker": {
    everyRuns: [12, 40],
    restMs: 500,
    draw: (dice) => ({ kind: "freeze-worker", worker: dice.integer(0, 5), ms: dice.integer(300, 2_500) }),
  },
  "kill-restate": {
    everyRuns: [10, 24],
    restMs: 2_000,
    draw: (dice) => ({ kind: "kill-restate", downMs: dice.integer(0, 500) }),
  },
  "kill-postgres": {
    everyRuns: [20, 50],
    restMs: 5_000,
    draw: (dice) => ({ kind: "kill-postgres", downMs: dice.integer(0, 2_000) }),
  },
};

/** The names of all kinds of faults. */
export const faultKinds = ["kill-worker", "freeze-worker", "kill-restate", "kill-postgres"] as const;

/** The faults of one kind, without end. The same seed gives the same schedule. */
function* schedule(seed: string, kind: Fault["kind"]): Generator<Scheduled, never> {
  const dice = chance(`${seed} ${kind}`);
  const { everyRuns, draw } = kinds[kind];
  for (;;) yield { afterRuns: dice.integer(...everyRuns), fault: draw(dice) };
}

/** The targets of faults. */
type Victims = Pick<Stage, "restate" | "postgres"> & { readonly crew: Crew };

/** The inputs that decide when faults come. */
interface Pace {
  readonly seed: string;
  readonly kinds: readonly Fault["kind"][];
  /** Number of runs that were accepted so far. */
  readonly countRuns: () => number;
  readonly stop: AbortSignal;
}

/** Injects faults according to the schedule until stopped. Resolves when everything is up again. */
export async function inject(
  victims: Victims,
  { seed, kinds: wanted, countRuns, stop }: Pace,
): Promise<readonly Disturbance[]> {
  const done: Disturbance[] = [];
  const rest = (ms: number): Promise<void> => delay(ms, undefined, { signal: stop }).catch(() => {});
  const play = async (kind: Fault["kind"]): Promise<void> => {
    let due = 0;
    for (const { afterRuns, fault } of schedule(seed, kind)) {
      due += afterRuns;
      await rest(kinds[kind].restMs);
      while (countRuns() < due && !stop.aborted) await rest(20);
      if (stop.aborted) return;
      let from = Date.now();
      let pid = await disturb(victims, fault);
      // A crew that is not whole can spare no worker: the fault comes later.
      while (pid === null && !stop.aborted) {
        await rest(50);
        from = Date.now();
        pid = await disturb(victims, fault);
      }
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
