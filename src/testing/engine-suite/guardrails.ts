import assert from "node:assert/strict";
import { agent } from "#agents";
import { type Guardrail, type GuardrailDecision, Json } from "#kernel";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** Section 7.7: each guardrail is called once, where its event happens. */
export const guardrailCases: readonly EngineCase[] = [
  {
    name: "7.7 each guardrail checks each item once, even across fresh executions",
    async run(harness) {
      const looks: string[] = [];
      const look = (what: string, notes: readonly Json[]): GuardrailDecision => {
        looks.push(`${what} ${notes.length}`);
        return { kind: "allow", note: what };
      };
      const watching: Guardrail = {
        name: "watching",
        onTurnStart: (_, { notes }) => look("turn", notes),
        onInput: (_, { notes }) => look("input", notes),
        beforeCall: (_, { notes }) => look("before", notes),
        afterCall: (_, { notes }) => look("after", notes),
        onOutput: (_, { notes }) => look("output", notes),
      };
      const model = scriptedModel([call("act", {}), call("act", { n: 1 }), say("done")]);
      const tools = [effect("act", async () => "acted")];
      const writer = agent({ name: "writer", model, tools, guardrails: [watching], continueAfter: 2 });
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        assert.equal((await (await runtime.start(writer, "go")).result()).output, "done");
      });
      const expected = ["turn 0", "input 1", "before 2", "after 3", "before 4", "after 5", "output 6"];
      assert.deepEqual(looks, expected);
    },
  },
  {
    name: "7.7 a guardrail's decision survives a crash",
    async run(harness) {
      let looks = 0;
      let crashes = 0;
      const fickle: Guardrail = {
        name: "fickle",
        beforeCall: () => (++looks === 1 ? { kind: "block", reason: "not now" } : { kind: "allow" }),
      };
      const acted: string[] = [];
      const tools = [effect("act", async () => acted.push("acted"))];
      const writer = agentOf(
        "writer",
        async (ctx) => {
          const { content } = await ctx.tool("act", {});
          if (crashes < 2) {
            crashes += 1;
            throw new Error("crash");
          }
          return Json.of(content);
        },
        { tools },
      );
      await onRuntime(
        harness,
        { agents: [writer], guardrails: [fickle], maxRestarts: 3 },
        async (runtime) => {
          const run = await runtime.start(writer, "go");
          assert.deepEqual((await run.result()).output, [{ type: "text", text: "not called: not now" }]);
          assert.equal(only(await historyOf(run), "guardrail.trip").length, 1);
        },
      );
      assert.deepEqual([looks, acted], [1, []]);
    },
  },
  {
    name: "7.7 a halt ends the run for good, without a restart",
    async run(harness) {
      const stern: Guardrail = { name: "stern", beforeCall: () => ({ kind: "halt", reason: "enough" }) };
      const tools = [effect("act", async () => "acted")];
      const writer = agentOf("writer", async (ctx) => Json.of((await ctx.tool("act", {})).content), {
        tools,
      });
      await onRuntime(harness, { agents: [writer], guardrails: [stern] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason, error?.code], ["failed", "guardrail", "guardrail"]);
        const trips = only(await historyOf(run), "guardrail.trip");
        assert.deepEqual(
          trips.map(({ guardrail, decision, reason }) => [guardrail, decision, reason]),
          [["stern", "halt", "enough"]],
        );
      });
    },
  },
];
