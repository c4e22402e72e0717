import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Json } from "#kernel";
import type { PlantedBug } from "../chaos/planted/bugs.ts";
import type { Seeds } from "./campaign.ts";
import type { Report } from "./simulate.ts";

/** Bugs inside the ledger, the tree and the driver, put into the source as a process loads it. Each must be caught. */
export const sourceBugs: readonly Omit<PlantedBug, "predicate">[] = [
  {
    what: "a slot moves before the run that is preempted has yielded",
    file: "ledger/slots/preemption.ts",
    was: 'if (phase === "waiting") park(draft, victim, at);',
    is: 'if (phase !== "parked") park(draft, victim, at);',
  },
  {
    what: "a cancel marks children and no grandchildren",
    file: "ledger/slots/cancel.ts",
    was: "(member) => draft.slots.need(member).cancelled === null)",
    is: `(member) => {
      const { parent, cancelled } = draft.slots.need(member);
      return cancelled === null && [run, ...also].some((each) => each === member || each === parent);
    })`,
  },
  {
    what: "the idempotency key is the attempt's",
    file: "run/execute-effect.ts",
    was: "createEffectCall({ identity, place, limited, updates, memory, resumed, llm })",
    is: "createEffectCall({ identity, place: { ...place, id: io.attempt }, limited, updates, memory, resumed, llm })",
  },
  {
    what: "every failed call counts as unbilled",
    file: "run/model-calls.ts",
    was: "error instanceof ModelError && error.unbilled ? Usage.none : null",
    is: "error instanceof ModelError ? Usage.none : null",
  },
  {
    what: "a call that waits for money is not decided again when money has moved",
    file: "tree/waiting-calls.ts",
    was: "if (work.isMoneyMoved) {",
    is: "if (work.isMoneyMoved && work.now < 0) {",
  },
  {
    what: "a run whose waiting call was decided is not told",
    file: "tree/waiting-calls.ts",
    was: 'for (const { run, step } of woken) work.push(run, { kind: "budget", step });',
    is: "void woken;",
  },
  {
    what: "a wake-up that brings an item is not resolved",
    file: "tree/state/add-item.ts",
    was: "object.wake(execution, wakeName(cursor), Json.of(news));",
    is: "void news;",
  },
];

const handful = 20;

/** Plays seeds in a process that has the bug, until one shows it. Returns that one; null if none of so many does. */
export async function firstSeedThatShows(what: string, most: number): Promise<Report | null> {
  const child = fork(join(import.meta.dirname, "fixtures/player.ts"), {
    execArgv: [
      "--conditions=reeve-source",
      `--import=${join(import.meta.dirname, "fixtures/plant-source.ts")}`,
    ],
    env: { ...process.env, REEVE_PLANTED_SOURCE: what },
  });
  const died = once(child, "exit").then(([code]): never => {
    throw new Error(`the process with the bug ended with ${code}`);
  });
  try {
    for (let from = 1; from <= most; from += handful) {
      child.send({ from, count: handful } satisfies Seeds);
      const [played] = await Promise.race([once(child, "message"), died]);
      const shown = Json.as<readonly Report[]>(played).find(({ violation }) => violation !== null);
      if (shown) return shown;
    }
    return null;
  } finally {
    died.catch(() => undefined);
    child.kill("SIGKILL");
  }
}
