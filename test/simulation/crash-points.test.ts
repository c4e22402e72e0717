import { describe, expect, test } from "vitest";
import { differences } from "./differences.ts";
import { scenarios } from "./scenarios.ts";
import { play, type Plan } from "./play.ts";
import { sample } from "../effort.ts";

/** Maximum calls in flight when a process dies: the widest scenario has three runs with model calls. */
const widest = 3;

/** Whether a crash point is inside an execution. At the others no execution is affected. */
const isInExecution = (point: string): boolean => /^(?:run|step|gate|call|direct|model|effect)\b/.test(point);

describe.each([
  { dies: "one", mostLost: 1, isWalked: () => true },
  { dies: "all", mostLost: widest, isWalked: isInExecution },
] as const)("crash points, where $dies dies", ({ dies, mostLost, isWalked }) => {
  const kinds = new Set<string>();
  let walked = 0;
  let places = 0;

  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    "%s: a crash at any point changes neither the answer nor the ledger nor the effects",
    async (_, scenario) => {
      const undisturbed = await play(scenario);
      const found: Record<string, readonly string[]> = {};
      places += undisturbed.points.length;
      const points = [...undisturbed.points.entries()].filter(([, point]) => isWalked(point));
      for (const [, point] of points) kinds.add(point);
      for (const [target, point] of sample(points, 0.2, ([place]) => `${scenario.name} ${dies} ${place}`)) {
        const plan: Plan = (index) => (index === target ? dies : "none");
        const disturbed = await play(scenario, plan).catch((error: unknown) => String(error));
        const changed =
          typeof disturbed === "string" ? [disturbed] : differences(undisturbed, disturbed, { mostLost });
        if (changed.length > 0) found[`${target} ${point}`] = changed;
        walked += 1;
      }
      expect(found).toEqual({});
    },
  );

  test("the crash points include every kind of write", () => {
    process.stdout.write(`crash points, where ${dies} dies: ${walked} of ${places}, ${kinds.size} kinds\n`);
    const expected = [...writes.execution, ...(dies === "one" ? writes.elsewhere : [])];
    expect([...kinds]).toEqual(expect.arrayContaining(expected));
  });
});

const beforeAndAfter = (names: readonly string[]): readonly string[] =>
  names.flatMap((name) => [`${name}: before`, `${name}: after`]);
const beforeCommit = (type: string, ...methods: readonly string[]): readonly string[] =>
  methods.map((method) => `${type}.${method}: before commit`);

/** Crash points that must be present: a write without a name is not visited. */
const writes = {
  execution: [
    ...beforeAndAfter(["gate begin", "model", "effect pay", "effect mail", "direct crashed"]),
    ...["model", "tool", "note"].map((kind) => `step ${kind}: done, not journaled`),
    ...["model", "tool", "note"].map((kind) => `step ${kind}: journaled`),
    ...["spawn", "wait", "take", "yield", "reply", "emit", "send", "continue", "end"].map(
      (method) => `call ${method}: journaled`,
    ),
  ],
  elsewhere: [
    ...beforeCommit(
      "tree",
      "open",
      "begin",
      "spawn",
      "wait",
      "take",
      "yield",
      "reply",
      "emit",
      "send",
      "signal",
    ),
    ...beforeCommit(
      "tree",
      "cancel",
      "pause",
      "resume",
      "reprioritize",
      "topUp",
      "crashed",
      "continue",
      "end",
    ),
    ...beforeCommit("tree", "drain"),
    ...beforeCommit("session", "invoke", "release"),
    ...beforeCommit("tenant", "setBudget", "requestQuota", "returnQuota"),
    ...beforeAndAfter([
      "keys.getRing",
      "store keys.put",
      "store events.append",
      "store runs.put",
      "store.eraseUser",
    ]),
    ...beforeAndAfter([
      "sink projector",
      "outside open",
      "outside signal",
      "outside cancel",
      "outside invoke",
    ]),
  ],
};
