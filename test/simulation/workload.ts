import { Json, type ExecutionBudget, type Priority, type RunContext, type SpawnOptions } from "#kernel";
import type { StartOptions } from "#runtime";
import type { Chance } from "./chance.ts";

/** Something that an agent does. */
type Act =
  /** `judged`: another model call is made inside its step. */
  | { readonly do: "think"; readonly most: number; readonly careful: boolean; readonly judged: boolean }
  | { readonly do: "tool"; readonly name: ToolName; readonly order: number }
  | { readonly do: "step" | "emit" | "tell" | "continue" | "fail" }
  | { readonly do: "sleep"; readonly ms: number }
  | { readonly do: "wait"; readonly name: string; readonly timeoutS: number | null }
  /** Many signals at once: more than a page of the inbox holds. */
  | { readonly do: "flood"; readonly name: string; readonly count: number }
  | {
      readonly do: "hire";
      readonly tasks: readonly Plan[];
      readonly how: "join" | "ask" | "leave";
      readonly options: SpawnOptions;
    }
  | { readonly do: "together"; readonly plans: readonly Plan[] };

/** The actions of an agent, in sequence. */
export type Plan = readonly Act[];

/** The tools, by their handling of a call with unknown outcome. */
export const toolNames = ["again", "report", "rerun", "ask"] as const;
type ToolName = (typeof toolNames)[number];

/** The load of the runtime. */
export interface Workload {
  readonly plan: Plan;
  readonly start: StartOptions;
}

/** The remaining size of a generated tree. */
interface Draft {
  readonly chance: Chance;
  /** Number of actions left; a run has at least one. */
  room: number;
  signals: number;
  orders: number;
}

/** A tree of some shape, under limits that may bind. Most are small: what goes wrong does so between two or three. */
export function workloadOf(chance: Chance): Workload {
  const deadlineS = chance.is(0.2) ? deadlineOf(chance) : undefined;
  const draft = { chance, room: chance.pickOne(3, 5, 6, 8, 9, 12, 16, 40), signals: 0, orders: 0 };
  return {
    plan: planOf(draft, chance.pickOne(0, 1, 2, 3)),
    start: {
      budget: budgetOf(chance, 0.6),
      spawn: { maxAgents: chance.pickBetween(1, 6), allowPreempt: chance.is(0.8) },
      priority: priorityOf(chance),
      ...(deadlineS !== undefined && { deadlineS }),
      ...(chance.is(0.2) && { session: "talk", onBusy: "queue" }),
    },
  };
}

/** Seconds, from less than a call takes to more than a story does. */
const deadlineOf = (chance: Chance): number =>
  chance.pickOne(chance.pickBetween(1, 3_000) / 1_000, chance.pickBetween(3, 60));

function budgetOf(chance: Chance, probability: number): ExecutionBudget {
  return {
    // Often too little for two calls at a time.
    ...(chance.is(probability) && {
      maxTokens: chance.pickOne(chance.pickBetween(100, 600), chance.pickBetween(600, 4_000)),
    }),
    ...(chance.is(probability / 2) && { maxCostUsd: chance.pickBetween(100, 8_000) / 1_000_000 }),
    ...(chance.is(probability / 4) && { maxTurns: chance.pickBetween(1, 6) }),
    ...(chance.is(probability / 4) && { deadlineS: deadlineOf(chance) }),
  };
}

const priorityOf = (chance: Chance): Priority =>
  chance.pickOne<Priority>("background", "low", "normal", "high", "critical");

function planOf(draft: Draft, depth: number): Plan {
  const { chance } = draft;
  const most = chance.pickBetween(1, 4);
  // Most runs that may spawn do.
  const acts = chance.is(0.6) && depth > 1 ? [spawnOf(draft, depth)] : [];
  while (acts.length === 0 || (acts.length < most && draft.room > 0)) acts.push(actOf(draft, depth));
  return acts;
}

function actOf(draft: Draft, depth: number): Act {
  const { chance } = draft;
  draft.room -= 1;
  const roll = chance.pickBelow(draft.room <= 0 ? 67 : depth <= 0 ? 75 : 100);
  if (roll < 25) return thinkOf(chance);
  // Mostly those that must not be repeated automatically.
  if (roll < 45) {
    const name = chance.pickOne(...toolNames, "report", "report", "ask", "ask");
    return { do: "tool", name, order: ++draft.orders };
  }
  if (roll < 50) return { do: chance.pickOne("step", "emit", "tell") };
  if (roll < 54) return { do: "sleep", ms: chance.pickBetween(1, 5_000) };
  if (roll < 61) return waitOf(draft);
  if (roll < 65) return { do: "continue" };
  if (roll < 67) return { do: "fail" };
  if (roll < 75) {
    const plans = chance.list(chance.pickBetween(2, 3), () => planOf(draft, depth - 1));
    return { do: "together", plans: plans.map((plan) => plan.filter((act) => act.do !== "continue")) };
  }
  return spawnOf(draft, depth);
}

function thinkOf(chance: Chance): Act {
  return { do: "think", most: chance.pickBetween(16, 200), careful: chance.is(0.5), judged: chance.is(0.3) };
}

function waitOf(draft: Draft): Act {
  const name = `signal-${++draft.signals}`;
  if (draft.chance.is(0.1)) return { do: "flood", name, count: draft.chance.pickBetween(40, 100) };
  return { do: "wait", name, timeoutS: draft.chance.is(0.3) ? draft.chance.pickBetween(1, 30) : null };
}

function spawnOf(draft: Draft, depth: number): Act {
  const { chance } = draft;
  draft.room -= 1;
  return {
    do: "hire",
    // Some children only call models, all at once: the budget does not suffice for all of them.
    tasks: chance.is(0.25)
      ? chance.list(chance.pickBetween(2, 5), () => [thinkOf(chance)])
      : chance.list(chance.pickBetween(1, 4), () => planOf(draft, depth - 1)),
    how: chance.pickOne("join", "join", "ask", "leave"),
    options: {
      priority: priorityOf(chance),
      onFull: chance.pickOne("deny", "wait"),
      detached: chance.is(0.15),
      ...(chance.is(0.3) && { budget: budgetOf(chance, 0.7) }),
    },
  };
}

/** Returns the plan in a task. A message without a plan does nothing. */
export const planIn = (text: string | undefined): Plan =>
  text?.startsWith("[") ? Json.as<Plan>(Json.as(JSON.parse(text))) : [];

/** Implementations of the actions with external effects. */
export interface Hands {
  readonly agent: Parameters<RunContext["spawn"]>[0];
  think(ctx: RunContext, act: Extract<Act, { do: "think" }>): Promise<unknown>;
  step(key: string): Promise<void>;
  /** Records the received signals, of the expected number. */
  recordSignals(name: string, signals: readonly Json[], count: number): void;
}

/** Runs a plan. A `continue` is left to the caller: the rest of the plan is returned. */
export async function carryOut(ctx: RunContext, plan: Plan, hands: Hands): Promise<Plan> {
  for (const [index, act] of plan.entries()) {
    if (act.do === "continue") return plan.slice(index + 1);
    const done = carryOutOne(ctx, act, hands);
    if (act.do === "think" && act.careful) await done.catch(() => undefined);
    else await done;
  }
  return [];
}

async function carryOutOne(ctx: RunContext, act: Act, hands: Hands): Promise<unknown> {
  switch (act.do) {
    case "think":
      return hands.think(ctx, act);
    case "tool":
      return ctx.tool(act.name, `${ctx.supervision.runId}/${act.order}`);
    case "step":
      return ctx.step("step", ({ idempotencyKey }) => hands.step(idempotencyKey));
    case "emit":
      return ctx.emit("progress");
    case "tell":
      return ctx.send(hands.agent.id, "hello");
    case "continue":
      return null;
    case "fail":
      throw new TypeError("a fault of its own");
    case "sleep":
      return ctx.sleepUntil((await ctx.now()) + act.ms);
    case "wait":
      // External clients see it, and answer eventually.
      await ctx.emit({ waitsFor: act.name });
      return ctx.waitFor(act.name, act.timeoutS === null ? {} : { timeoutS: act.timeoutS });
    case "flood":
      return takeFlood(ctx, act, hands);
    case "together":
      return Promise.all(act.plans.map((plan) => carryOut(ctx, plan, hands)));
    case "hire":
      return Promise.all(act.tasks.map((task) => hireFor(ctx, task, act, hands)));
  }
}

async function takeFlood(
  ctx: RunContext,
  { name, count }: Extract<Act, { do: "flood" }>,
  hands: Hands,
): Promise<void> {
  await ctx.emit({ waitsFor: name, count });
  const signals: Json[] = [];
  while (signals.length < count) signals.push(await ctx.waitFor(name));
  hands.recordSignals(name, signals, count);
}

async function hireFor(
  ctx: RunContext,
  task: Plan,
  { how, options }: Extract<Act, { do: "hire" }>,
  { agent }: Hands,
): Promise<unknown> {
  const words = JSON.stringify(task);
  try {
    if (how === "ask") return await ctx.ask(agent, words, { ...options, timeoutS: 20 });
    const handle = await ctx.spawn(agent, words, options);
    return how === "join" ? await ctx.join(handle) : null;
  } catch {
    // Denied or cancelled: the next operation reports it.
    return null;
  }
}
