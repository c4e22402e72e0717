import assert from "node:assert/strict";
import { Json, type ChildHandle } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** Sections 2.6 and 2.8: how a paused run regains its slot, and what its callers see. */
export const resumingCases: readonly EngineCase[] = [
  {
    name: "2.6 a preempted run gets its slot back when one frees, before later runs",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("v1 v2");
        const call = await spawner.call("v1");
        await spawner.spawn("high", { priority: "high" });
        call.answer("V1");
        const taken = await spawner.call("high");
        const later = await spawner.spawn("later", { onFull: "wait" });
        const urgent = await spawner.spawn("urgent", { priority: "high", onFull: "wait" });
        assert.deepEqual([await later.status(), await urgent.status()], ["pending", "pending"]);
        taken.answer("done");
        (await spawner.call("urgent")).answer("done");
        (await spawner.call("v2")).answer("V2");
        await spawner.call("later");
        assert.equal(await victim.status(), "completed");
      });
    },
  },
  {
    name: "2.6 a waiting victim that nothing has woken is not queued: the slot goes to a run that can use it",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("?go v");
        await reaches(victim, "waiting");
        await spawner.spawn("high", { priority: "high" });
        const queued = await spawner.spawn("q", { priority: "low", onFull: "wait" });
        (await spawner.call("high")).answer("done");
        (await spawner.call("q")).answer("Q");
        await queued.result();
        await victim.signal("go");
        (await spawner.call("v")).answer("V");
        assert.deepEqual((await victim.result()).output, [null, "V"]);
        const resumed = only(await spawner.close(), "run.resumed").map(({ runId }) => runId);
        assert.deepEqual(resumed, [victim.runId]);
      });
    },
  },
  {
    name: "2.8 join waits through a pause by default; with onPause return it gives status paused, and can be joined later",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(writer, "work");
        const patient = ctx.join(handle);
        const early = await ctx.join(handle, { onPause: "return" });
        const again = await ctx.join(handle, { onPause: "return" });
        await ctx.emit("seen");
        const late = "handle" in early ? await ctx.join(early.handle) : early;
        return [early.status, again.status, late.output, (await patient).output];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const { child } = await waitForEvent(root, "spawn.admitted");
        const run = runtime.run(child);
        await reaches(run, "waiting");
        await run.pause();
        await waitForEvent(root, "progress.emitted");
        await run.resume();
        await run.signal("go", "gone");
        assert.deepEqual((await root.result()).output, ["paused", "paused", "gone", "gone"]);
      });
    },
  },
  {
    name: "2.8 a resumed child is no longer reported as paused",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => {
        await ctx.waitFor("go");
        await ctx.emit("going on");
        await ctx.waitFor("end");
      });
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(writer, "work");
        const { status } = await ctx.join(handle, { onPause: "return" });
        await ctx.waitFor("resumed");
        return [status, (await ctx.join(handle, { onPause: "return" })).status];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const { child } = await waitForEvent(root, "spawn.admitted");
        const run = runtime.run(child);
        await reaches(run, "waiting");
        await run.pause();
        await run.resume();
        await run.signal("go");
        await waitForEvent(root, "progress.emitted");
        await root.signal("resumed");
        await run.signal("end");
        assert.deepEqual((await root.result()).output, ["paused", "completed"]);
      });
    },
  },
  {
    name: "2.8 a run also sees the pause of a run that it did not spawn",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));
      const watcher = agentOf("watcher", async (ctx, inbox) => {
        const handle = Json.as<ChildHandle>((await inbox.next({ waitS: 60 }))?.data);
        const early = await ctx.join(handle, { onPause: "return" });
        const asked = await ctx.ask(handle, "are you there?", { timeoutS: 60, onPause: "return" });
        await ctx.emit("seen");
        return [early.status, asked.kind, (await ctx.join(handle)).output];
      });
      const lead = agentOf("lead", async (ctx) => {
        const [handle, other] = [await ctx.spawn(writer, "work"), await ctx.spawn(watcher, null)];
        await ctx.send(other, "watch this one", Json.of(handle));
        return (await ctx.join(other)).output;
      });
      await onRuntime(harness, { agents: [lead, writer, watcher] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const { child } = await waitForEvent(
          root,
          "spawn.admitted",
          ({ childAgent }) => childAgent === writer.id,
        );
        await reaches(runtime.run(child), "waiting");
        await runtime.run(child).pause();
        await waitForEvent(root, "progress.emitted");
        await runtime.run(child).resume();
        await runtime.run(child).signal("go", "gone");
        assert.deepEqual((await root.result()).output, ["paused", "paused", "gone"]);
      });
    },
  },
  {
    name: "2.8 ask waits through a pause by default; with onPause return it gives kind paused and a handle to join later",
    async run(harness) {
      const writer = agentOf("writer", async (ctx, inbox) => {
        const question = await inbox.next();
        await ctx.waitFor("go");
        if (question) await ctx.reply(question, "answer");
        return "end";
      });
      const lead = agentOf("lead", async (ctx) => {
        const early = await ctx.ask(writer, "question", { timeoutS: 60, onPause: "return" });
        const patient = ctx.ask(writer, "question", { timeoutS: 60 });
        await ctx.emit("asked");
        const late = await ctx.join(early.handle);
        const reply = await patient;
        return [early.kind, late.output, reply.kind === "replied" ? reply.text : reply.kind];
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const first = runtime.run((await waitForEvent(root, "spawn.admitted")).child);
        await reaches(first, "waiting");
        await first.pause();
        const admitted = await waitForEvent(root, "spawn.admitted", ({ child }) => child !== first.runId);
        const second = runtime.run(admitted.child);
        await reaches(second, "waiting");
        await second.pause();
        await Promise.all([first.resume(), second.resume()]);
        await Promise.all([first.signal("go"), second.signal("go")]);
        assert.deepEqual((await root.result()).output, ["paused", "end", "answer"]);
      });
    },
  },
];
