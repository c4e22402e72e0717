import assert from "node:assert/strict";
import { agent } from "#agents";
import { ContentBlock, type Agent, type Guardrail, type Model } from "#kernel";
import { call, scriptedModel } from "../scripted-model.ts";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { reaches, waitForEvent } from "./history.ts";

/** A model that answers with text and calls a tool with it. */
function talkativeModel(): Model {
  const answer = call("wait", {});
  const content = [ContentBlock.text("It is the pump."), ...answer.message.content];
  return scriptedModel([{ ...answer, message: { role: "assistant", content } }]);
}

/** An agent that has produced text and waits in a tool. */
function waitingAgent(
  options: { readonly guardrails?: readonly Guardrail[]; readonly layered?: boolean } = {},
): Agent {
  return agent({
    name: "writer",
    model: talkativeModel(),
    tools: [
      {
        name: "wait",
        description: "Waits for a signal",
        input: anything,
        risk: "safe",
        run: async (ctx) => ctx.waitFor("go"),
      },
    ],
    ...(options.guardrails && { guardrails: options.guardrails }),
    ...(options.layered && { middleware: { agent: [{ process: (_, next) => next() }] } }),
  });
}

const anything = {
  "~standard": { version: 1, vendor: "reeve", validate: (value: unknown) => ({ value }) },
} as const;

const outputGuardrail: Guardrail = { name: "reader", onOutput: () => ({ kind: "allow" }) };

/** The last text of a run that does not reach its answer. */
export const lastWordsCases: readonly EngineCase[] = [
  ...[
    { name: "keeps the last text of its model", options: {}, kept: "It is the pump." },
    {
      name: "keeps the last text of its model behind agent middleware",
      options: { layered: true },
      kept: "It is the pump.",
    },
    {
      name: "keeps no text that output guardrails did not check",
      options: { guardrails: [outputGuardrail] },
      kept: null,
    },
  ].map(({ name, options, kept }): EngineCase => ({
    name: `4.6 a cancelled agent ${name}`,
    async run(harness) {
      const writer = waitingAgent(options);
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        await reaches(run, "waiting");
        await run.cancel("enough");
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["cancelled", kept]);
      });
    },
  })),
  ...[
    { name: "the last text of a paused child", options: {}, shown: "It is the pump." },
    {
      name: "no text that output guardrails did not check",
      options: { guardrails: [outputGuardrail] },
      shown: null,
    },
  ].map(({ name, options, shown }): EngineCase => ({
    name: `2.8 join and ask that return on a pause carry ${name}`,
    async run(harness) {
      const writer = waitingAgent(options);
      const lead = agentOf("lead", async (ctx) => {
        const asked = await ctx.ask(writer, "work", { timeoutS: 60, onPause: "return" });
        const joined = await ctx.join(asked.handle, { onPause: "return" });
        return ["textSoFar" in asked ? asked.textSoFar : "", "textSoFar" in joined ? joined.textSoFar : ""];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const run = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await reaches(run, "waiting");
        await run.pause();
        assert.deepEqual((await root.result()).output, [shown, shown]);
      });
    },
  })),
];
