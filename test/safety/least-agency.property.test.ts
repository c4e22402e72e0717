import type { Inbox } from "#kernel";
import * as fc from "fast-check";
import {
  AgentId,
  BudgetExhaustedError,
  ChatMessage,
  createRuntime,
  Json,
  tool,
  type Agent,
  type RunContext,
} from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(100);

const names = ["read", "write", "send"] as const;
type Name = (typeof names)[number];

/** A node of a tree of agents. Its parent sets its rights, and may request more than it has itself. */
interface Node {
  readonly calls: readonly Name[];
  /** Model calls, before its children and after them. */
  readonly pays: number;
  readonly paysLater: number;
  /** Dollars; null: none asked for. */
  readonly budget: number | null;
  /** The tools that its parent allows by rules. Null: no rules. */
  readonly left: readonly Name[] | null;
  readonly children: readonly Node[];
}

const some = fc.array(fc.constantFrom(...names), { maxLength: 3 });
const nodes: fc.Memo<Node> = fc.memo((depth) =>
  fc.record({
    calls: some,
    pays: fc.integer({ min: 0, max: 3 }),
    paysLater: fc.integer({ min: 0, max: 2 }),
    budget: fc.option(fc.constantFrom(0, 0.000_1, 0.000_2, 0.000_5, 0.001, 10)),
    left: fc.option(some),
    children: depth <= 1 ? fc.constant([]) : fc.array(nodes(depth - 1), { maxLength: 3 }),
  }),
);

/** An executed action of a node: its path, such as `0.1.2`, with the tool, or with the cost of a model call. */
interface Deed {
  readonly path: string;
  readonly tool?: string;
  readonly micros?: number;
}

const model = scriptedModel([say("ok")], { price: { input: 1_000_000, output: 1_000_000 } });

/** Creates the agent that follows its node, and the list of its actions. */
function createWorker(deeds: Deed[]): Agent {
  const tools = names.map((name) =>
    tool({
      name,
      description: "x",
      risk: "safe",
      input: z.object({ path: z.string() }),
      execute: ({ path }) => `${deeds.push({ path, tool: name })}`,
    }),
  );
  const pay = async (ctx: RunContext, path: string, times: number): Promise<void> => {
    for (let call = 0; call < times; call += 1) {
      const { usage } = await ctx.llm([ChatMessage.user("hello")], { maxOutputTokens: 50 });
      deeds.push({ path, micros: (usage?.input ?? 0) + (usage?.output ?? 0) });
    }
  };
  const worker: Agent = {
    id: AgentId.of("worker"),
    model,
    tools,
    run: async (ctx: RunContext, inbox: Inbox) => {
      const { path, node } = Json.as<{ readonly path: string; readonly node: Node }>(
        (await inbox.next())?.data ?? null,
      );
      for (const name of node.calls) await ctx.tool(name, { path });
      await pay(ctx, path, node.pays);
      for (const [index, child] of node.children.entries()) {
        const rules = names
          .filter((name) => child.left !== null && !child.left.includes(name))
          .map((name) => ({ tool: name, verdict: "deny" as const }));
        // A rule that allows never gives a child what its parent lacks.
        const allowing = names.map((name) => ({ tool: name, verdict: "allow" as const }));
        const data = Json.of({ path: `${path}.${index}`, node: child });
        try {
          const spawned = await ctx.spawn(
            worker,
            { text: "go", data },
            {
              permissions: [...rules, ...allowing],
              ...(child.budget !== null && { budget: { maxCostUsd: child.budget } }),
            },
          );
          await ctx.join(spawned);
        } catch (error) {
          if (!(error instanceof BudgetExhaustedError)) throw error;
        }
      }
      await pay(ctx, path, node.paysLater);
      return "done";
    },
  };
  return worker;
}

/** Lists every node with its path, the tools of its ancestors and itself, and its own limit in micro-dollars. */
function listNodes(
  node: Node,
  path = "0",
  may: readonly Name[] = names,
): readonly { readonly path: string; readonly may: readonly Name[]; readonly limit: number }[] {
  const own = node.left === null ? may : may.filter((name) => node.left?.includes(name));
  const limit = node.budget === null ? Infinity : node.budget * 1_000_000;
  const below = node.children.flatMap((child, index) => listNodes(child, `${path}.${index}`, own));
  return [{ path, may: own, limit }, ...below];
}

test(`in ${numRuns} random trees, no run calls a tool that a run above it lacks, and none spends more than any above it has`, async () => {
  const seen = { calls: 0, refusedCalls: 0, limited: 0 };
  const property = fc.asyncProperty(nodes(4), async (drawn) => {
    const node = { ...drawn, left: null };
    const deeds: Deed[] = [];
    const worker = createWorker(deeds);
    await using runtime = createRuntime({ agents: [worker] });
    const budget = node.budget === null ? {} : { budget: { maxCostUsd: node.budget } };
    const run = await runtime.start(worker, { text: "go", data: Json.of({ path: "0", node }) }, budget);
    await run.result();
    for (const { path, may, limit } of listNodes(node)) {
      const own = deeds.filter((deed) => deed.path === path);
      const called = own.flatMap((deed) => (deed.tool === undefined ? [] : [deed.tool]));
      expect(called.filter((name) => !may.some((allowed) => allowed === name))).toEqual([]);
      const below = deeds.filter((deed) => deed.path === path || deed.path.startsWith(`${path}.`));
      const spent = below.reduce((sum, { micros = 0 }) => sum + micros, 0);
      expect(spent).toBeLessThanOrEqual(limit);
      seen.calls += called.length;
      if (may.length < names.length) seen.refusedCalls += 1;
      if (spent > 0 && Number.isFinite(limit) && limit < 10_000_000) seen.limited += 1;
    }
  });
  await fc.assert(property, { numRuns });
  // The trees are not so restricted that nothing was tried.
  expect(Object.values(seen).every((count) => count > numRuns / 4)).toBe(true);
});
