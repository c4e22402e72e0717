import type { ExecutionBudget, SpawnBudget } from "reeve";
import { type Chance, chance } from "../../../src/testing/fake-provider/chance.ts";

/** An external action on a tree, with its delay after acceptance. */
export interface OutsideAct {
  readonly afterMs: number;
  readonly act:
    | { readonly kind: "cancel" }
    | { readonly kind: "steer" | "followUp"; readonly text: string }
    | { readonly kind: "signal"; readonly name: string; readonly id: string };
}

/** One tree of a campaign. */
export interface TreePlan {
  readonly id: string;
  readonly tenant: string;
  readonly shape: Shape;
  readonly agent: string;
  readonly task: string;
  readonly budget: Pick<ExecutionBudget, "maxTokens" | "maxCostUsd">;
  readonly spawn: SpawnBudget;
  readonly acts: readonly OutsideAct[];
  /** The conversation that it waits for its turn in; null: one of its own. */
  readonly session: string | null;
  /** Whether its input is marked untrusted. */
  readonly isUntrusted: boolean;
  /** Must not be in any file. */
  readonly secret: string;
}

/** The kinds of trees. */
export type Shape =
  | "solo"
  | "team"
  | "levels"
  | "parallel"
  | "approval"
  | "sleep"
  | "continue"
  | "wander"
  | "preempt"
  | "steer";

/** In rotation; those that fill their headcount come more often. */
const cycle: readonly Shape[] = [
  "team",
  "solo",
  "preempt",
  "levels",
  "parallel",
  "team",
  "approval",
  "continue",
  "preempt",
  "wander",
  "levels",
  "steer",
  "team",
  "sleep",
];

type Draft = Pick<TreePlan, "agent" | "task" | "acts"> & {
  readonly maxAgents: number;
  readonly needs: number;
};

const tools = ["note", "mail", "stamp", "pay"] as const;

/** Trees without end. The same seed gives the same trees. */
export function* plans(seed: string): Generator<TreePlan, never> {
  for (let number = 0; ; number++) yield plan(seed, number, cycle[number % cycle.length] ?? "solo");
}

/** Creates one tree of a kind. */
export function plan(seed: string, number: number, shape: Shape): TreePlan {
  const dice = chance(`${seed} tree ${number}`);
  const id = `chaos-${number}-${dice.word(8)}`;
  const secret = `secret-${dice.word(20)}`;
  const draft = drafts[shape](dice, `${secret} ${id}`, id);
  const isCancelled = shape !== "approval" && dice.fraction() < 0.15;
  const cancel: OutsideAct = { afterMs: dice.integer(50, 1_500), act: { kind: "cancel" } };
  const tenant = dice.fraction() < 0.5 ? "acme" : "globex";
  const budget = budgetOf(dice, draft.needs);
  const session = sessionFor(dice, shape);
  return {
    id,
    tenant,
    shape,
    agent: draft.agent,
    task: draft.task,
    // The conversation so far is sent, too.
    budget: session === null ? budget : timesBudget(budget, 2),
    spawn: { maxAgents: draft.maxAgents, allowPreempt: true },
    acts: isCancelled ? [...draft.acts, cancel] : draft.acts,
    session,
    isUntrusted: dice.fraction() < 0.15,
    secret,
  };
}

/** Shapes whose root is created by `agent()`: only these write a conversation. */
const talking: ReadonlySet<Shape> = new Set<Shape>(["solo", "team", "levels", "wander", "steer"]);

/** Half of the talking shapes share a few conversations: about 30 % of all trees. */
function sessionFor(dice: Chance, shape: Shape): string | null {
  const isShared = dice.fraction() < 0.5;
  return isShared && talking.has(shape) ? `talk-${dice.integer(1, 3)}` : null;
}

function timesBudget({ maxTokens, maxCostUsd }: TreePlan["budget"], times: number): TreePlan["budget"] {
  return {
    ...(maxTokens !== undefined && { maxTokens: maxTokens * times }),
    ...(maxCostUsd !== undefined && { maxCostUsd: maxCostUsd * times }),
  };
}

/** Most trees have a cap, and most of these one that is too small. */
function budgetOf(dice: Chance, needs: number): TreePlan["budget"] {
  const drawn = dice.fraction();
  const tokens = Math.ceil(needs * (0.2 + 0.3 * dice.fraction()));
  if (drawn < 0.4) return { maxTokens: tokens };
  // At the price of the campaign's models a token costs between one and four micro-dollars.
  if (drawn < 0.75) return { maxCostUsd: (tokens * 1.3) / 1_000_000 };
  return {};
}

const call = (dice: Chance, id: string, part: string): string =>
  `call ${tools[dice.integer(0, tools.length - 1)]} ${JSON.stringify({ order: `${id}.${part}` })}`;

const drafts: Readonly<Record<Shape, (dice: Chance, words: string, id: string) => Draft>> = {
  solo: (dice, words, id) => {
    const calls = Array.from(
      { length: dice.integer(1, 3) },
      (_, n) => (n > 0 && dice.fraction() < 0.5 ? "then " : "") + call(dice, id, String(n)),
    );
    return { agent: "writer", task: [words, ...calls].join("\n"), acts: [], maxAgents: 3, needs: 4_000 };
  },
  team: (dice, words, id) => {
    const asks = Array.from({ length: dice.integer(3, 5) }, (_, n) =>
      ask("writer", `${words}\n${call(dice, id, `c${n}`)}`),
    );
    const task = [words, ...asks].join("\n");
    return { agent: "editor", task, acts: [], maxAgents: dice.integer(2, 3), needs: 14_000 };
  },
  levels: (dice, words, id) => {
    const inner = (n: number): string =>
      [words, ask("writer", `${words}\n${call(dice, id, `l${n}`)}`), call(dice, id, `m${n}`)].join("\n");
    const task = [words, ask("editor", inner(0)), ask("editor", inner(1))].join("\n");
    return { agent: "lead", task, acts: [], maxAgents: dice.integer(3, 4), needs: 16_000 };
  },
  parallel: (_, __, id) => ({ agent: "parallel", task: id, acts: [], maxAgents: 2, needs: 900 }),
  approval: (dice, words, id) => {
    const signal = (name: string): OutsideAct => ({
      afterMs: dice.integer(10, 900),
      act: { kind: "signal", name, id: `${id}-${name}` },
    });
    // Each comes twice, in any order.
    const acts = ["first", "second", "second", "first"].map(signal);
    return { agent: "approval", task: words, acts, maxAgents: 2, needs: 700 };
  },
  sleep: (_, words) => ({ agent: "sleeper", task: words, acts: [], maxAgents: 2, needs: 900 }),
  continue: (_, words) => ({ agent: "continuing", task: words, acts: [], maxAgents: 2, needs: 1_400 }),
  wander: (dice, words, id) => {
    const calls = [0, 1, 2].map((n) => (n > 0 ? "then " : "") + call(dice, id, String(n)));
    return { agent: "continuer", task: [words, ...calls].join("\n"), acts: [], maxAgents: 2, needs: 6_000 };
  },
  preempt: (dice, words) => {
    return { agent: "preempter", task: words, acts: [], maxAgents: dice.integer(3, 4), needs: 4_000 };
  },
  steer: (dice, words, id) => {
    const more = (kind: "steer" | "followUp"): OutsideAct => ({
      afterMs: dice.integer(20, 600),
      act: { kind, text: `${words}\n${call(dice, id, kind)}` },
    });
    const task = `${words}\n${call(dice, id, "0")}`;
    return { agent: "writer", task, acts: [more("steer"), more("followUp")], maxAgents: 2, needs: 6_000 };
  },
};

const ask = (who: string, task: string): string => `call ask_${who} ${JSON.stringify({ task })}`;
