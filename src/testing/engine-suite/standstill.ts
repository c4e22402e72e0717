import assert from "node:assert/strict";
import { ToolResult, type Agent, type RunContext, type RunId } from "#kernel";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { effect } from "./effect.ts";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { reaches, waitForEvent } from "./history.ts";
import { ask, greedyModel, prompt } from "./spender.ts";

/** The time that each ask may take: enough for everything but the standstill, on a slow engine too. */
const askTimeoutS = 6;

/** The runs of one team: a root that asks its lead, which asks its worker. */
interface Team {
  readonly runtime: Runtime;
  readonly root: RunHandle;
  readonly worker: RunHandle;
  readonly workerAgent: Agent;
}

/** Something that a worker waits for. */
interface Standstill {
  readonly work: (ctx: RunContext) => Promise<string>;
  readonly rest?: Omit<Agent, "id" | "run">;
  readonly start?: StartOptions;
  /** Resolves once the worker stands still. */
  stop(team: Team): Promise<unknown>;
  go(team: Team): Promise<unknown>;
}

const approvalId = async ({ root }: Team): Promise<string> => (await root.approvals())[0]?.id ?? "";

/** A worker that waits for a person, because of a tool. */
const waitingForPerson = (tool: NonNullable<Agent["tools"]>[number], go: Standstill["go"]): Standstill => ({
  work: (ctx) => ctx.tool(tool.name, {}).then(() => "done"),
  rest: { tools: [tool] },
  stop: (team) => eventually("it waits for a person", async () => (await approvalId(team)) !== ""),
  go,
});

/** Holds a slot until it gets a signal. */
const sitter = agentOf("sitter", (ctx) => ctx.waitFor("go"));

/** Waits until a run has spawned a child of an agent, or has queued it. */
async function childOf(root: RunHandle, { id }: Agent): Promise<RunId> {
  for await (const event of root.events())
    if ((event.type === "spawn.admitted" || event.type === "spawn.queued") && event.childAgent === id)
      return event.child;
  throw new Error(`no ${id} was spawned`);
}

const standstills: Readonly<Record<string, Standstill>> = {
  approval: waitingForPerson({ ...effect("mail", async () => "sent"), risk: "high" }, async (team) =>
    team.root.approve(await approvalId(team)),
  ),
  question: waitingForPerson(
    {
      ...effect("ask", async () => null),
      execute: (_, { resumed }) => (resumed ? "asked" : ToolResult.ask({ question: "Which day?" })),
    },
    async (team) => team.root.edit(await approvalId(team), "Friday"),
  ),
  pause: {
    work: (ctx) => ctx.waitFor("go").then(() => "done"),
    async stop({ worker }) {
      await reaches(worker, "waiting");
      await worker.pause();
      await reaches(worker, "paused");
    },
    async go({ worker }) {
      await worker.signal("go");
      await worker.resume();
    },
  },
  switch: {
    async work(ctx) {
      await ctx.waitFor("go");
      return ctx.step("work", () => "done");
    },
    async stop({ runtime, worker, workerAgent }) {
      await reaches(worker, "waiting");
      await runtime.switches.disable({ agent: workerAgent.id });
      await worker.signal("go");
      await reaches(worker, "paused");
    },
    go: ({ runtime, workerAgent }) => runtime.switches.enable({ agent: workerAgent.id }),
  },
  money: {
    async work(ctx) {
      await ctx.llm(prompt, ask(100));
      await ctx.llm(prompt, ask(100));
      return "done";
    },
    rest: { model: greedyModel(), budget: { maxTokens: 150, onLimit: "wait" } },
    stop: ({ root }) => waitForEvent(root, "budget.waiting"),
    go: ({ worker }) => worker.topUp({ maxTokens: 100 }),
  },
  slot: {
    work: async () => "done",
    start: { spawn: { maxAgents: 3 } },
    stop: ({ worker }) => reaches(worker, "pending"),
    go: async ({ runtime, root }) => runtime.run(await childOf(root, sitter)).signal("go"),
  },
};

/**
 * Spawns another agent and, once it gets a signal, asks it. Replies with the answer, or with what else came of the
 * question. With the signal an ask begins above runs that stand still already, so its time does not depend on the
 * machine.
 */
const askerOf = (name: string, asked: Agent, before?: Agent): Agent =>
  agentOf(name, async (ctx, inbox) => {
    const message = await inbox.next();
    if (before) await ctx.spawn(before, null);
    const handle = await ctx.spawn(asked, "work", { onFull: "wait" });
    await ctx.waitFor("ask");
    const outcome = await ctx.ask(handle, "work", { timeoutS: askTimeoutS });
    const answer = outcome.kind === "replied" ? outcome.text : outcome.kind;
    if (message) await ctx.reply(message, answer);
    return answer;
  });

/** Creates a worker, a lead that asks it, and a root that asks the lead. */
function createTeam(name: string, { work, rest }: Standstill) {
  const worker = agentOf(
    // A name of its own: engines may remember the switches of other cases.
    `${name}-${crypto.randomUUID().slice(0, 8)}`,
    async (ctx, inbox) => {
      const message = await inbox.next();
      const result = await work(ctx);
      if (message) await ctx.reply(message, result);
      return null;
    },
    rest,
  );
  const lead = askerOf(`${name}-lead`, worker);
  return { worker, lead, root: askerOf(`${name}-root`, lead, name === "slot" ? sitter : undefined) };
}

/** Section 6.10: time in which nothing can make progress is not time of an ask. */
export const standstillCases: readonly EngineCase[] = [
  {
    name: "6.10 above a worker that waits for a person, a switch, money or a slot, no ask times out",
    timed: true,
    async run(harness) {
      const clock = agentOf("clock", async (ctx) => ctx.sleepUntil((await ctx.now()) + askTimeoutS * 3_000));
      const all = Object.entries(standstills).map(([name, standstill]) => ({
        name,
        standstill,
        agents: createTeam(name, standstill),
      }));
      const agents = [clock, sitter, ...all.flatMap((each) => Object.values(each.agents))];
      await onRuntime(harness, { agents, approver: "human" }, async (runtime) => {
        const stopped = await Promise.all(
          all.map(async ({ name, standstill, agents: { root: rootAgent, lead, worker: workerAgent } }) => {
            const root = await runtime.start(rootAgent, "go", standstill.start);
            const worker = runtime.run(await childOf(root, workerAgent));
            const team = { runtime, root, worker, workerAgent };
            await standstill.stop(team);
            await runtime.run(await childOf(root, lead)).signal("ask");
            await root.signal("ask");
            return { name, standstill, team };
          }),
        );
        await (await runtime.start(clock, "go")).result();
        await Promise.all(stopped.map(({ standstill, team }) => standstill.go(team)));
        const answers = await Promise.all(
          stopped.map(async ({ name, team }) => [name, (await team.root.result()).output]),
        );
        assert.deepEqual(
          Object.fromEntries(answers),
          Object.fromEntries(all.map(({ name }) => [name, "done"])),
        );
      });
    },
  },
  {
    name: "6.10 an answer that comes while its asker is paused, after the time of the ask, is not lost",
    async run(harness) {
      const timeoutS = 0.3;
      const clock = agentOf("clock", async (ctx) => ctx.sleepUntil((await ctx.now()) + timeoutS * 3_000));
      const worker = agentOf("worker", async (ctx, inbox) => {
        await inbox.next();
        await ctx.waitFor("go");
        const message = await inbox.next();
        if (message) await ctx.reply(message, "done");
        return null;
      });
      const asker = agentOf("asker", async (ctx) => {
        const handle = await ctx.spawn(worker, "work");
        await ctx.waitFor("ask");
        const outcome = await ctx.ask(handle, "are you done?", { timeoutS });
        return outcome.kind === "replied" ? outcome.text : outcome.kind;
      });
      await onRuntime(harness, { agents: [asker, worker, clock] }, async (runtime) => {
        const root = await runtime.start(asker, "go");
        const asked = runtime.run(await childOf(root, worker));
        // It stands still before it is asked, so the result does not depend on the speed of the machine.
        await asked.pause();
        await reaches(asked, "paused");
        await root.signal("ask");
        await waitForEvent(root, "message.sent");
        await root.pause();
        await reaches(root, "paused");
        await (await runtime.start(clock, "go")).result();
        await asked.resume();
        await asked.signal("go");
        await asked.result();
        await root.resume();
        assert.equal((await root.result()).output, "done");
      });
    },
  },
];
