import {
  AgentId,
  BudgetExhaustedError,
  ChatMessage,
  type Agent,
  type ChatMiddleware,
  Json,
  type Model,
  type RunContext,
  type RunResult,
} from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { seededRandom } from "../../src/base/seeded-random.ts";

/*
 * Random trees that spend money. Each run makes model calls in sequence while its children work. A call may use less
 * than its ceiling, which is a share of the tree's cap. Output costs a micro-dollar per token and input nothing, so the
 * cost of a call is its output.
 */

/** The cap of every tree, in micro-dollars. */
const cap = 100_000;

/** One model call: its maximum output, and its actual output. */
interface PlannedCall {
  readonly limit: number;
  readonly says: number;
}

/** The work of a run: in turn, a call or several children at once. */
export type Plan = readonly (PlannedCall | { readonly children: readonly Plan[] })[];

/** The shape of a tree. Amounts are shares of the cap. */
export interface TreeShape {
  readonly seed: number;
  /** The cost of all its calls. */
  readonly cost: readonly [least: number, most: number];
  /** The ceiling of one call. */
  readonly ceiling: readonly [least: number, most: number];
}

/** Makes a tree. The same seed makes the same tree. */
export function planTree({ seed, cost, ceiling }: TreeShape): Plan {
  const random = seededRandom(`money/${seed}`);
  const between = ([least, most]: readonly [number, number]): number => least + (most - least) * random();
  const calls: PlannedCall[] = [];
  let left = Math.floor(between(cost) * cap);
  while (left > 0) {
    const limit = Math.floor(between(ceiling) * cap);
    const says = Math.min(left, Math.max(1, Math.floor(limit * between([0.05, 0.6]))));
    calls.push({ limit, says });
    left -= says;
  }
  return divide(calls, random, 0);
}

/** Gives the calls to a run and to children of it. */
function divide(calls: readonly PlannedCall[], random: () => number, depth: number): Plan {
  if (calls.length < 3 || depth === 3) return calls;
  const own = calls.slice(0, 1 + Math.floor(random() * 2));
  const rest = calls.slice(own.length);
  const count = Math.min(rest.length, 2 + Math.floor(random() * 5));
  const shares = Array.from({ length: count }, (_, index) =>
    rest.filter((_call, place) => place % count === index),
  );
  return [...own, { children: shares.map((share) => divide(share, random, depth + 1)) }];
}

/** The calls and the bill of the provider. */
export interface Bill {
  total: number;
  cut: number;
}

/** A judge makes a model call before each call, inside the same step. */
const judging: ChatMiddleware = {
  async process({ scope, messages }, next) {
    const [tree] = messages.map(ChatMessage.text).join("").split(" ");
    await scope.llm([ChatMessage.user(`${tree} 300`)], { maxOutputTokens: 2_000 });
    await next();
  },
};

/** The agent that carries plans out, and the bill of its model. `judged`: each call has another one inside its step. */
export function spendingAgent({ judged = false }: { readonly judged?: boolean } = {}): {
  readonly agent: Agent;
  readonly bills: Map<string, Bill>;
} {
  const bills = new Map<string, Bill>();
  const agent: Agent = {
    id: AgentId.of("node"),
    model: billingModel(bills),
    ...(judged && { policy: { chat: [judging] } }),
    run: async (ctx, inbox) => {
      const task = await inbox.next();
      const { tree, plan } = Json.as<{ tree: string; plan: Plan }>(JSON.parse(task?.text ?? "{}"));
      return carryOut(ctx, agent, tree, plan);
    },
  };
  return { agent, bills };
}

async function carryOut(ctx: RunContext, agent: Agent, tree: string, plan: Plan): Promise<Json> {
  let stopped = 0;
  for (const part of plan) {
    if (!("children" in part)) {
      if (!(await call(ctx, tree, part))) return stopped + 1;
      continue;
    }
    const runs = await Promise.all(
      part.children.map((child) => ctx.spawn(agent, JSON.stringify({ tree, plan: child }))),
    );
    const results = await Promise.all(runs.map((run) => ctx.join(run)));
    stopped += results.reduce((sum, { output }) => sum + (typeof output === "number" ? output : 1), 0);
  }
  return stopped;
}

/** Makes a call as an agent does: false if money has stopped it, or has cut its answer. */
async function call(ctx: RunContext, tree: string, { limit, says }: PlannedCall): Promise<boolean> {
  try {
    const options = { maxOutputTokens: limit };
    const { shrunk, finishReason } = await ctx.llm([ChatMessage.user(`${tree} ${says}`)], options);
    return !(shrunk && finishReason === "length");
  } catch (error) {
    if (error instanceof BudgetExhaustedError) return false;
    throw error;
  }
}

function billingModel(bills: Map<string, Bill>): Model {
  return {
    id: "billing",
    price: { input: 0, output: 1_000_000 },
    async generate({ messages, maxOutputTokens }) {
      const [tree = "", says = "0"] = messages.map(ChatMessage.text).join("").split(" ");
      const output = Math.min(maxOutputTokens, Number(says));
      const bill = bills.get(tree) ?? { total: 0, cut: 0 };
      bills.set(tree, bill);
      bill.total += output;
      if (output < Number(says)) bill.cut += 1;
      // Calls of other runs begin in between.
      await new Promise((resolve) => setTimeout(resolve, output % 4));
      return {
        message: ChatMessage.assistant("ok"),
        usage: { input: 1, output },
        finishReason: output < Number(says) ? "length" : "stop",
      };
    },
  };
}

/** The end of a tree. */
export interface Spent {
  readonly result: RunResult;
  /** The bill of its provider, as a share of the cap. */
  readonly use: number;
  /** Runs that money has stopped. */
  readonly stopped: number;
}

/** Starts a tree. */
export function startTree(runtime: Runtime, agent: Agent, name: string, plan: Plan): Promise<RunHandle> {
  const budget = { maxCostUsd: cap / 1_000_000 };
  const options = { id: name, budget, spawn: { maxAgents: 200 } };
  return runtime.start(agent, JSON.stringify({ tree: name, plan }), options);
}

/** Runs trees with limited concurrency, and returns how each of them ended. */
export async function runTrees(
  runtime: Runtime,
  { agent, bills }: ReturnType<typeof spendingAgent>,
  plans: readonly Plan[],
  name: string,
): Promise<readonly Spent[]> {
  const spent: Spent[] = [];
  const line = [...plans.entries()];
  const work = async (): Promise<void> => {
    for (let next = line.shift(); next; next = line.shift()) {
      const [index, plan] = next;
      const id = `${name}-${index}`;
      const result = await (await startTree(runtime, agent, id, plan)).result();
      const stopped = typeof result.output === "number" ? result.output : 1;
      spent.push({ result, use: (bills.get(id)?.total ?? 0) / cap, stopped });
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return spent;
}

/** Describes the distribution of the used amounts. */
export function describeUse(spent: readonly Spent[]): string {
  const uses = spent.map(({ use }) => use).toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${((uses[Math.floor(share * (uses.length - 1))] ?? 0) * 100).toFixed(0)} %`;
  const marks = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1].map((share) => `${share * 100}: ${at(share)}`);
  return `use of the cap by percentile: ${marks.join(", ")}`;
}

/** The median use. */
export function medianUse(spent: readonly Spent[]): number {
  return spent.map(({ use }) => use).toSorted((a, b) => a - b)[Math.floor(spent.length / 2)] ?? 0;
}
