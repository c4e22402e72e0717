import assert from "node:assert/strict";
import {
  agentEventTypes,
  Json,
  type Agent,
  type Guardrail,
  type Hooks,
  type NumberedEvent,
  type RunContext,
} from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { memoryStore } from "#stores/memory";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, onRuntime } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";
import { ask, greedyModel, prompt, tokenPrice } from "./spender.ts";

/** Records every event that it receives. */
function recorder(): { readonly hooks: Hooks; readonly heard: NumberedEvent[] } {
  const heard: NumberedEvent[] = [];
  const hooks: Hooks = { dispatch: async (event) => void heard.push(event), on: () => () => undefined };
  return { hooks, heard };
}

const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));

const careful: Guardrail = { name: "careful", beforeCall: () => ({ kind: "warn", reason: "mind the step" }) };

/** Causes one event of each kind. */
const lead = (hooks: Hooks): Agent =>
  agentOf(
    "lead",
    async (ctx) => {
      ctx.record("turn.start", { turn: 1 });
      ctx.record("custom", { name: "plan", data: { steps: 3 } });
      const child = await ctx.spawn(writer, "help");
      await ctx.spawn(writer, "no room").catch(() => null);
      await ctx.llm(prompt, ask(100));
      await ctx.llm(prompt, ask(1_000_000)).catch(() => null);
      await ctx.tool("look", {});
      await ctx.tool("mail", {});
      await ctx.send(child, "hurry");
      await ctx.emit("half way");
      await ctx.waitFor("go");
      await ctx.join(child);
      ctx.record("turn.end", { turn: 1 });
      return "done";
    },
    {
      // Far more than was reserved: the ledger books it as in doubt.
      model: greedyModel({ price: tokenPrice, reports: () => ({ input: 5_000_000, output: 5 }) }),
      tools: [
        effect("look", async () => "seen", { idempotent: true }),
        { ...effect("mail", async () => "sent"), risk: "high" },
      ],
      budget: { maxTokens: 500 },
      policy: { hooks, guardrails: [careful] },
    },
  );

/** Steers the tree from outside while it waits. */
async function steer(runtime: Runtime, run: RunHandle): Promise<void> {
  const child = runtime.run(`${run.treeId}~1`);
  await eventually("it asks", async () => (await run.approvals()).length > 0);
  const [question] = await run.approvals();
  await run.approve(question?.id ?? "");
  await waitForEvent(run, "progress.emitted");
  await run.topUp({ maxTokens: 1_000 });
  await run.reprioritize("high");
  await run.pause();
  await reaches(run, "paused");
  await run.resume();
  await run.signal("go");
  await child.signal("go");
}

const runtimeEvents = {
  "approval.decided": { approvalId: "x~0:tool:1", decision: "approved", by: "ceo" },
  "run.end": {
    status: "completed",
    stopReason: "answer",
    durationMs: 1,
    usage: { input: 0, output: 0 },
    costMicros: 0,
  },
  "budget.settled": { tokens: 1, costMicros: 1, inDoubt: false },
  "guardrail.trip": { guardrail: "careful", reason: "no", decision: "halt" },
  "handoff.made": { to: "writer", toRun: "x~1" },
};

/** Asks for events that agent code may not write, as JavaScript without types can. */
function forge(ctx: RunContext): Json {
  return Object.entries(runtimeEvents).map(([type, payload]) => {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as JavaScript without types can
      ctx.record(type as "custom", Json.as(Json.of(payload)));
      return `${type} recorded`;
    } catch (error) {
      return error instanceof TypeError ? error.message : String(error);
    }
  });
}

/** Section 7.2: one author for each event. */
export const eventCases: readonly EngineCase[] = [
  {
    name: "7.2 hooks and the stream get the same events with the same payloads",
    async run(harness) {
      const { hooks, heard } = recorder();
      const root = lead(hooks);
      const options = { agents: [root, writer], approver: "human", store: memoryStore() } as const;
      await onRuntime(harness, options, async (runtime) => {
        const run = await runtime.start(root, "go", { spawn: { maxAgents: 2 } });
        await steer(runtime, run);
        const result = await run.result();
        assert.equal(result.output, "done", JSON.stringify(result));
        const streamed = (await historyOf(run)).filter(({ runId }) => runId === run.runId);
        const mayMiss = harness.losesHookCalls === true;
        await eventually("the hooks hear of the end", () => mayMiss || only(heard, "run.end").length > 0);
        const isHeard = ({ seq }: NumberedEvent): boolean => heard.some((event) => event.seq === seq);
        const missed = streamed.filter((event) => !isHeard(event));
        if (!mayMiss) assert.deepEqual(missed, []);
        assert.deepEqual(heard, streamed.filter(isHeard));
        const settled = only(streamed, "budget.settled").at(0);
        assert.equal(settled?.inDoubt, true);
        for (const type of expectedTypes)
          assert.ok(
            streamed.some((event) => event.type === type),
            type,
          );
      });
    },
  },
  {
    name: "7.2 agent code cannot write an event of the runtime",
    async run(harness) {
      const forger = agentOf("forger", async (ctx) => forge(ctx));
      const store = memoryStore();
      await onRuntime(harness, { agents: [forger], store }, async (runtime) => {
        const run = await runtime.start(forger, "go");
        const known = agentEventTypes.join(", ");
        const refusals = Object.keys(runtimeEvents).map(
          (type) => `agent code cannot record ${type}; it may record ${known}`,
        );
        assert.deepEqual((await run.result()).output, refusals);
        assert.deepEqual(
          (await historyOf(run)).map(({ type }) => type),
          ["run.start", "run.end"],
        );
      });
    },
  },
];

/** Events that the case must cause, so that it compares more than a start and an end. */
const expectedTypes = [
  "run.start",
  "turn.start",
  "custom",
  "spawn.admitted",
  "spawn.denied",
  "budget.reserved",
  "model.start",
  "budget.settled",
  "model.end",
  "budget.denied",
  "tool.start",
  "guardrail.trip",
  "tool.end",
  "approval.requested",
  "approval.decided",
  "message.sent",
  "progress.emitted",
  "budget.topped-up",
  "run.reprioritized",
  "run.paused",
  "run.resumed",
  "turn.end",
  "run.end",
];
