import assert from "node:assert/strict";
import { ChatMessage, type Model, type Priority } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";

/** Sections 2.4, 2.5 and 2.9: who makes room for whom, and when the slot moves. */
export const preemptionCases: readonly EngineCase[] = [
  {
    name: "2.4 in a full tree high and critical preempt the lowest run strictly below them",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 4 } }, async (spawner) => {
        const low = await spawner.spawn("?low", { priority: "low" });
        const background = await spawner.spawn("?background", { priority: "background" });
        const normal = await spawner.spawn("?normal");
        await Promise.all([low, background, normal].map((run) => reaches(run, "waiting")));
        await spawner.spawn("high", { priority: "high" });
        assert.deepEqual([await background.status(), await low.status()], ["paused", "waiting"]);
        await spawner.spawn("critical", { priority: "critical" });
        assert.deepEqual([await low.status(), await normal.status()], ["paused", "waiting"]);
        await Promise.all([spawner.call("high"), spawner.call("critical")]);
      });
    },
  },
  {
    name: "2.4 among equal priorities the run spawned last is the victim",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 4 } }, async (spawner) => {
        const runs = [await spawner.spawn("?a"), await spawner.spawn("?b"), await spawner.spawn("?c")];
        await Promise.all(runs.map((run) => reaches(run, "waiting")));
        await spawner.spawn("high", { priority: "high" });
        assert.deepEqual(await Promise.all(runs.map((run) => run.status())), [
          "waiting",
          "waiting",
          "paused",
        ]);
      });
    },
  },
  {
    name: "2.4 without a run of strictly lower priority a spawn is denied, or queued if the caller asked to wait",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const first = await spawner.spawn("a", { priority: "high" });
        assert.equal((await spawner.expectDenied("b", { priority: "high" }))["reason"], "no-lower-priority");
        const queued = await spawner.spawn("c", { priority: "high", onFull: "wait" });
        assert.equal(await queued.status(), "pending");
        (await spawner.call("a")).answer("A");
        await spawner.call("c");
        assert.equal(await first.status(), "completed");
      });
    },
  },
  {
    name: "2.4 with allowPreempt false high and critical are denied, or queued if the caller asked to wait",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2, allowPreempt: false } }, async (spawner) => {
        const low = await spawner.spawn("?low", { priority: "background" });
        assert.equal((await spawner.expectDenied("b", { priority: "critical" }))["reason"], "preemption-off");
        const queued = await spawner.spawn("c", { priority: "critical", onFull: "wait" });
        assert.equal(await queued.status(), "pending");
        await reaches(low, "waiting");
      });
    },
  },
  {
    name: "2.5 the slot moves when the victim has yielded: it finishes its call, starts nothing more and parks",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("v1 v2");
        const call = await spawner.call("v1");
        const taker = await spawner.spawn("t", { priority: "high" });
        assert.deepEqual([await victim.status(), await taker.status()], ["running", "pending"]);
        call.answer("V1");
        const taken = await spawner.call("t");
        assert.equal(call.signal.aborted, false);
        assert.deepEqual([await victim.status(), spawner.wasAsked("v2")], ["paused", false]);
        taken.answer("T");
        (await spawner.call("v2")).answer("V2");
        assert.deepEqual((await victim.result()).output, ["V1", "V2"]);
        const events = await spawner.close();
        const [queued] = only(events, "spawn.queued");
        assert.equal(queued?.victim, victim.runId);
        const place = (type: "run.paused" | "run.resumed" | "run.start" | "run.end", run: string): number =>
          only(events, type).find(({ runId }) => runId === run)?.seq ?? NaN;
        const order = [
          place("run.paused", victim.runId),
          place("run.start", taker.runId),
          place("run.end", taker.runId),
          place("run.resumed", victim.runId),
          place("run.end", victim.runId),
        ];
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
        );
        assert.equal(only(events, "run.paused")[0]?.cause, "preempted");
      });
    },
  },
  {
    name: "2.5 a waiting victim yields at once, and on waking must get a slot before its next step",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("?go v");
        await reaches(victim, "waiting");
        await spawner.spawn("t", { priority: "high" });
        const taken = await spawner.call("t");
        await victim.signal("go", "gone");
        assert.equal(await victim.status(), "paused");
        const another = await spawner.expectDenied("x");
        assert.deepEqual([another["reason"], spawner.wasAsked("v")], ["full", false]);
        taken.answer("T");
        (await spawner.call("v")).answer("V");
        assert.deepEqual((await victim.result()).output, ["gone", "V"]);
      });
    },
  },
  {
    name: "2.5 a victim that does not yield in time has its call aborted, and makes it again later under a new attempt",
    async run(harness) {
      const runtime = { yieldTimeoutS: 0.1 };
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 }, runtime }, async (spawner) => {
        const victim = await spawner.spawn("v", { budget: { maxTurns: 1 } });
        const aborted = await spawner.call("v");
        await spawner.spawn("t", { priority: "high" });
        const taken = await spawner.call("t");
        assert.deepEqual([aborted.signal.aborted, await victim.status()], [true, "paused"]);
        taken.answer("T");
        (await spawner.call("v", 1)).answer("V");
        const { status, output } = await victim.result();
        assert.deepEqual([status, output], ["completed", ["V"]]);
        const events = await spawner.close();
        const starts = only(events, "model.start").filter(({ runId }) => runId === victim.runId);
        const settled = only(events, "budget.settled").filter(({ runId }) => runId === victim.runId);
        assert.equal(new Set(starts.map(({ attempt }) => attempt)).size, 2);
        assert.deepEqual(
          settled.map(({ attempt, inDoubt }) => [attempt, inDoubt]),
          [
            [starts[0]?.attempt, true],
            [starts[1]?.attempt, false],
          ],
        );
      });
    },
  },
  {
    name: "2.5 a paused run cannot be preempted again, and its end frees nothing",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 } }, async (spawner) => {
        const victim = await spawner.spawn("?go", { priority: "background" });
        await reaches(victim, "waiting");
        const taker = await spawner.spawn("t", { priority: "high" });
        await spawner.call("t");
        assert.equal((await spawner.expectDenied("x", { priority: "high" }))["reason"], "no-lower-priority");
        await victim.cancel();
        assert.equal(await victim.status(), "cancelled");
        assert.equal((await spawner.expectDenied("x"))["reason"], "full");
        assert.equal(await taker.status(), "running");
      });
    },
  },
  {
    name: "2.5 the root is never a victim",
    async run(harness) {
      await inSpawnHarness(harness, { spawn: { maxAgents: 2 }, priority: "background" }, async (spawner) => {
        await spawner.spawn("a", { priority: "high" });
        assert.equal((await spawner.expectDenied("b", { priority: "high" }))["reason"], "no-lower-priority");
        await spawner.spawn("c", { priority: "critical" });
        assert.notEqual(await spawner.root.status(), "paused");
      });
    },
  },
  {
    name: "2.9 at no instant are more calls in flight than there are slots, however runs preempt each other",
    async run(harness) {
      const crowd = crowdModel();
      const writer = agentOf(
        "writer",
        async (ctx) => {
          for (const word of ["one", "two", "three"]) {
            await ctx.llm([ChatMessage.user(word)]);
          }
        },
        { model: crowd },
      );
      const ranks: readonly Priority[] = ["background", "low", "normal", "high", "critical"];
      const lead = agentOf("lead", async (ctx) => {
        const wishes = Array.from({ length: 20 }, (_, index) => ranks[(index * 3) % 5] ?? "normal");
        const handles = await Promise.all(
          wishes.map((priority) => ctx.spawn(writer, "work", { priority, onFull: "wait" })),
        );
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        return results.filter(({ status }) => status === "completed").length;
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go", { spawn: { maxAgents: 4 } });
        await waitForEvent(run, "spawn.queued", ({ victim }) => victim !== null);
        crowd.open();
        assert.equal((await run.result()).output, 20);
        assert.ok(crowd.maxInFlight <= 3, `${crowd.maxInFlight} calls in flight, besides the root's slot`);
      });
    },
  },
];

/** A model that counts the calls in flight. None of them ends before it is opened. */
function crowdModel(): Model & { readonly maxInFlight: number; open(): void } {
  let [inFlight, most] = [0, 0];
  const opened = Promise.withResolvers<void>();
  return {
    id: "crowd",
    get maxInFlight() {
      return most;
    },
    open: opened.resolve,
    async generate() {
      most = Math.max(most, ++inFlight);
      await opened.promise;
      await new Promise((resolve) => setTimeout(resolve, 2));
      inFlight -= 1;
      return { message: ChatMessage.assistant("ok"), usage: { input: 10, output: 5 }, finishReason: "stop" };
    },
  };
}
