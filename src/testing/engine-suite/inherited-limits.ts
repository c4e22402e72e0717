import assert from "node:assert/strict";
import { allowAll } from "#agents";
import { AgentId, Json, type Agent, type Inbox, type RunContext } from "#kernel";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";

/** The work that a run does after it has called both tools. */
type Work = (ctx: RunContext, inbox: Inbox, helper: Agent) => Promise<void>;

/** Runs a tree and returns the tools that its runs have called, by task. Two types of agents have the same two tools. */
async function findCalls(
  harness: SuiteHarness,
  works: Readonly<Record<string, Work>>,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const calls: Record<string, string[]> = {};
  const tools = ["read", "send"].map((name) =>
    effect(name, async (task) => (calls[Json.as<string>(task)] ??= []).push(name)),
  );
  const run: Agent["run"] = async (ctx, inbox) => {
    const task = (await inbox.next())?.text ?? "";
    for (const { name } of tools) await ctx.tool(name, task);
    await works[task]?.(ctx, inbox, helper);
  };
  const policy = { permissions: allowAll };
  const [worker, helper] = [
    agentOf("worker", run, { tools, policy }),
    agentOf("helper", run, { tools, policy }),
  ];
  await onRuntime(harness, { agents: [worker, helper] }, async (runtime) => {
    const { status } = await (await runtime.start(worker, "root")).result();
    assert.equal(status, "completed");
  });
  return calls;
}

/** Spawns a worker and waits for its end. */
const spawnWorker =
  (task: string): Work =>
  async (ctx) => {
    const worker = { id: AgentId.of("worker") };
    await ctx.join(await ctx.spawn(worker, task));
  };

/** Wakes a worker by a message. Its key is new, so no live run gets the message. */
const wakeWorker =
  (task: string): Work =>
  (ctx) =>
    ctx.send(AgentId.of("worker", "another"), task);

/** Reports to the root, which is the oldest worker. */
const reportDone: Work = (ctx) => ctx.send(AgentId.of("worker"), "done");

const isDone = async (inbox: Inbox): Promise<void> => {
  assert.equal((await inbox.next({ waitS: 60 }))?.text, "done");
};

/** Sections 7.5 and 8.8: limits that hold for all runs below the one that has them. */
export const inheritedLimitCases: readonly EngineCase[] = [
  {
    name: "8.8 a list of tools holds for all runs of its type below, also below runs of another type",
    async run(harness) {
      const calls = await findCalls(harness, {
        root: async (ctx) => void (await ctx.join(await ctx.spawnChild("copy", { tools: ["read"] }))),
        copy: async (ctx, _inbox, helper) => void (await ctx.join(await ctx.spawn(helper, "helper"))),
        helper: spawnWorker("below"),
      });
      assert.deepEqual(calls, {
        root: ["read", "send"],
        copy: ["read"],
        helper: ["read", "send"],
        below: ["read"],
      });
    },
  },
  {
    name: "8.8 a list of tools holds for a run that a message of the restricted run wakes",
    async run(harness) {
      const calls = await findCalls(harness, {
        root: async (ctx, inbox) => {
          await ctx.join(await ctx.spawnChild("copy", { tools: ["read"] }));
          await isDone(inbox);
        },
        copy: wakeWorker("woken"),
        woken: reportDone,
      });
      assert.deepEqual(calls, { root: ["read", "send"], copy: ["read"], woken: ["read"] });
    },
  },
  {
    name: "8.8 a list of tools holds for a run that the unread message of an ended run wakes",
    async run(harness) {
      const calls = await findCalls(harness, {
        root: async (ctx, inbox) => {
          await ctx.join(await ctx.spawnChild("copy", { tools: ["read"] }));
          await isDone(inbox);
        },
        // It ends without reading its own message.
        copy: (ctx) => ctx.send(ctx.meta.runId, "unread"),
        unread: reportDone,
      });
      assert.deepEqual(calls, { root: ["read", "send"], copy: ["read"], unread: ["read"] });
    },
  },
  {
    name: "7.5 the rules of a run hold for a run that its message wakes",
    async run(harness) {
      const calls = await findCalls(harness, {
        root: async (ctx, inbox, helper) => {
          const rule = { tool: "send", verdict: "deny" } as const;
          await ctx.join(await ctx.spawn(helper, "helper", { permissions: [rule] }));
          await isDone(inbox);
        },
        helper: wakeWorker("woken"),
        woken: reportDone,
      });
      assert.deepEqual(calls, { root: ["read", "send"], helper: ["read"], woken: ["read"] });
    },
  },
];
