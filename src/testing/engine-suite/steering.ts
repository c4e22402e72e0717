import assert from "node:assert/strict";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** Section 6.8: input from outside, for the current turn and for after it. */
export const steeringCases: readonly EngineCase[] = [
  {
    name: "6.8 steer and followUp reach a running agent by separate queues, each in order",
    async run(harness) {
      const agent = agentOf("agent", async (ctx, inbox) => {
        await ctx.waitFor("go");
        const messages = [await inbox.next(), await inbox.next()];
        const steering = inbox.takeSteering().map(({ text }) => text);
        const followUps = inbox.takeFollowUps().map(({ text }) => text);
        return [
          messages.map((message) => message?.text ?? null),
          steering,
          followUps,
          inbox.takeSteering().length,
        ];
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.steer("left");
        await root.followUp("then rest");
        await root.steer("right");
        await root.followUp("then sleep");
        await root.signal("go");
        const { output } = await root.result();
        assert.deepEqual(output, [["boot", null], ["left", "right"], ["then rest", "then sleep"], 0]);
      });
    },
  },
  {
    name: "6.8 steering repeated under the same id is delivered once",
    async run(harness) {
      const agent = agentOf("agent", async (ctx, inbox) => {
        await ctx.waitFor("go");
        await inbox.next();
        await inbox.next();
        return [...inbox.takeSteering(), ...inbox.takeFollowUps()].map(({ text }) => text);
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        for (let said = 0; said < 2; said += 1) {
          await root.steer("left", { id: "turn" });
          await root.followUp("then rest", { id: "rest" });
        }
        await root.signal("go");
        assert.deepEqual((await root.result()).output, ["left", "then rest"]);
      });
    },
  },
  {
    name: "6.8 steering sent during a step is available after it",
    async run(harness) {
      const gate = Promise.withResolvers<void>();
      const agent = agentOf("agent", async (ctx, inbox) => {
        await inbox.next();
        await ctx.step("tools", () => gate.promise);
        await inbox.next();
        return inbox.takeSteering().map(({ text }) => text);
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.steer("left");
        gate.resolve();
        assert.deepEqual((await root.result()).output, ["left"]);
      });
    },
  },
  {
    name: "6.8 a crash loses neither steering nor a follow-up, taken before it or sent while the run is down",
    async run(harness) {
      const crashed = new Set<string>();
      const agent = agentOf("agent", async (ctx, inbox) => {
        await ctx.waitFor("go");
        await inbox.next();
        const texts = [...inbox.takeSteering(), ...inbox.takeFollowUps()].map(({ text }) => text);
        if (crashed.size === 0) {
          crashed.add("once");
          throw new Error("crash");
        }
        await ctx.waitFor("end");
        await inbox.next();
        return [...texts, ...inbox.takeSteering().map(({ text }) => text)];
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.steer("left");
        await root.followUp("then rest");
        await root.signal("go");
        await root.steer("right");
        await root.signal("end");
        const { output } = await root.result();
        assert.deepEqual(
          new Set(Array.isArray(output) ? output : []),
          new Set(["left", "then rest", "right"]),
        );
        assert.deepEqual([crashed.size, Array.isArray(output) && output.length], [1, 3]);
      });
    },
  },
  {
    name: "6.8 steering and follow-ups that a run never read are dead-lettered when it ends",
    async run(harness) {
      const agent = agentOf("agent", (ctx) => ctx.waitFor("end"));
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.steer("left");
        await root.followUp("then rest");
        await root.signal("end");
        const letters = only(await historyOf(root), "message.dead-lettered");
        assert.deepEqual(
          letters.map(({ reason }) => reason),
          ["run-ended", "run-ended"],
        );
      });
    },
  },
  {
    name: "6.8 steering and follow-ups for an ended run are refused with a RunEndedError",
    async run(harness) {
      const agent = agentOf("agent", async () => null);
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const root = await runtime.start(agent, "boot");
        await root.result();
        await assert.rejects(root.steer("left"), { code: "run-ended" });
        await assert.rejects(root.followUp("then rest"), { code: "run-ended" });
      });
    },
  },
];
