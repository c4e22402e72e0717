import assert from "node:assert/strict";
import { ForeignError, type Agent, type Json, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";

/** Counts executed steps of a tree by name. */
type Executed = (tree: string, step: string) => void;

interface Shape {
  readonly name: string;
  /** The code under test. `work` is a step that takes a moment, answers `value`, and is counted. */
  readonly run: (ctx: RunContext, work: (name: string, value: number) => Promise<number>) => Promise<Json>;
  readonly answer: Json;
  readonly steps: number;
}

const repeat = 24;
const range = (length: number): number[] => Array.from({ length }, (_, index) => index);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const shapes: readonly Shape[] = [
  {
    name: "Promise.all of steps",
    run: async (_, work) => Promise.all(range(8).map((index) => work(`step-${index}`, index))),
    answer: range(8),
    steps: 8,
  },
  {
    name: "parallel flows of several steps",
    run: async (_, work) => {
      const flow = async (index: number): Promise<number> => {
        const first = await work(`first-${index}`, index);
        const second = await work(`second-${index}`, first + 10);
        return work(`third-${index}`, second + 10);
      };
      return Promise.all(range(5).map(flow));
    },
    answer: range(5).map((index) => index + 20),
    steps: 15,
  },
  {
    name: "a pool of 3 workers over 12 jobs",
    run: async (_, work) => {
      const results: number[] = [];
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < 12) {
          const job = next++;
          results[job] = await work(`job-${job}`, job * job);
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      return results;
    },
    answer: range(12).map((job) => job * job),
    steps: 12,
  },
  {
    name: "an open .then() chain",
    run: async (_, work) => {
      // oxlint-disable-next-line promise/prefer-await-to-then -- people write it
      const chain = work("a", 1)
        .then((a) => work("b", a + 1))
        .then((b) => work("c", b + 1));
      const beside = await work("beside", 100);
      const after = await work("after", beside + 1);
      return [await chain, after];
    },
    answer: [3, 101],
    steps: 5,
  },
  {
    name: "nested async functions",
    run: async (_, work) => {
      const tree = async (depth: number, path: string): Promise<number> => {
        const own = await work(`node-${path}`, 1);
        if (depth === 0) return own;
        return own + sum(await Promise.all([tree(depth - 1, `${path}l`), tree(depth - 1, `${path}r`)]));
      };
      return tree(2, "");
    },
    answer: 7,
    steps: 7,
  },
  {
    name: "Promise.allSettled with a failure in it",
    run: async (ctx, work) => {
      const bad = async (): Promise<number> => {
        await work("before", 1);
        return ctx.step("bad", () => Promise.reject(new TypeError("no")));
      };
      const [good, failed] = await Promise.allSettled([work("good", 1), bad()]);
      const reason: unknown = failed.status === "rejected" ? failed.reason : null;
      return [good.status, reason instanceof ForeignError && reason.kind, await work("last", 3)];
    },
    answer: ["fulfilled", "TypeError", 3],
    steps: 3,
  },
];

/** Section 5: plain async code over a journal. Each shape runs 24 times. */
export const shapeCases: readonly EngineCase[] = [
  ...shapes.map((shape): EngineCase => ({
    name: `5.1 ${shape.name} gives the answer of undisturbed code, and each step is executed once`,
    async run(harness) {
      const executed = new Map<string, number>();
      const lead = shapeAgent(shape, (tree, step) => {
        executed.set(`${tree}/${step}`, (executed.get(`${tree}/${step}`) ?? 0) + 1);
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const runs = await Promise.all(range(repeat).map(() => runtime.start(lead, "go")));
        const results = await Promise.all(runs.map((run) => run.result()));
        for (const { status, output } of results) {
          assert.equal(status, "completed");
          assert.deepEqual(output, shape.answer);
        }
      });
      assert.equal(executed.size, repeat * shape.steps);
      assert.deepEqual(new Set(executed.values()), new Set([1]));
    },
  })),
  {
    name: "5.1 Promise.race has the same winner on replay, and the loser is executed once and its result can still be awaited",
    async run(harness) {
      const executed: string[] = [];
      const gates = new Map<string, PromiseWithResolvers<void>>();
      const gateOf = (tree: string): PromiseWithResolvers<void> => {
        const gate = gates.get(tree) ?? Promise.withResolvers<void>();
        gates.set(tree, gate);
        return gate;
      };
      const lead = agentOf("lead", async (ctx) => {
        const { treeId } = ctx.supervision;
        const slow = ctx.step("slow", async () => {
          executed.push("slow");
          // It cannot win: it ends when the race is over.
          await gateOf(treeId).promise;
          return "slow";
        });
        const fast = ctx.step("fast", () => {
          executed.push("fast");
          return "fast";
        });
        const winner = await Promise.race([slow, fast]);
        await ctx.step("over", () => gateOf(treeId).resolve());
        return [winner, await slow, await Promise.race([slow, fast])];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const runs = await Promise.all(range(repeat).map(() => runtime.start(lead, "go")));
        for (const { output } of await Promise.all(runs.map((run) => run.result())))
          assert.deepEqual(output, ["fast", "slow", "slow"]);
      });
      assert.deepEqual(executed.toSorted(), [
        ...range(repeat).map(() => "fast"),
        ...range(repeat).map(() => "slow"),
      ]);
    },
  },
  {
    name: "5.1 more steps at once than may be open are all executed, each once",
    async run(harness) {
      let open = 0;
      let most = 0;
      const counts = range(100).map(() => 0);
      const lead = agentOf("lead", async (ctx) => {
        const work = (index: number): Promise<number> =>
          ctx.step(`job-${index}`, async () => {
            counts[index] = (counts[index] ?? 0) + 1;
            most = Math.max(most, ++open);
            await new Promise((resolve) => setTimeout(resolve, 1));
            open -= 1;
            return index;
          });
        return sum(await Promise.all(range(100).map(work)));
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.equal(output, sum(range(100)));
      });
      assert.ok(most <= 64);
      assert.ok(counts.every((count) => count === 1));
    },
  },
];

function shapeAgent(shape: Shape, executed: Executed): Agent {
  return agentOf("lead", async (ctx) => {
    const { treeId } = ctx.supervision;
    const work = (name: string, value: number): Promise<number> =>
      ctx.step(name, async () => {
        executed(treeId, name);
        // Longer or shorter, so that they end in another order than they began.
        await new Promise((resolve) => setTimeout(resolve, (name.length * 7 + value * 3) % 5));
        return value;
      });
    return shape.run(ctx, work);
  });
}
