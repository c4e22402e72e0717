import assert from "node:assert/strict";
import { Json, RunId, type ChildHandle } from "#kernel";
import { agentOf, forever, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

const leaf = agentOf("leaf", forever);

/** Sections 6.6 and 6.7: what parents learn of their children, and the lifetimes of both. */
export const familyCases: readonly EngineCase[] = [
  {
    name: "6.6 a parent does not see a child's crashes while the child is restarted",
    async run(harness) {
      const crashes = new Set<number>();
      const writer = agentOf("writer", async (ctx) => {
        const value = await ctx.step("once", () => "kept");
        if (crashes.size < 2) throw new Error(`crash ${crashes.add(crashes.size).size}`);
        return value;
      });
      const lead = agentOf("lead", async (ctx) => {
        const outcome = await ctx.join(await ctx.spawn(writer, "work"), { onPause: "return" });
        return "output" in outcome ? [outcome.status, outcome.output] : outcome.status;
      });
      await onRuntime(harness, { agents: [lead, writer], maxRestarts: 2 }, async (runtime) => {
        assert.deepEqual((await (await runtime.start(lead, "go")).result()).output, ["completed", "kept"]);
      });
    },
  },
  {
    name: "6.6 a parent sees a child's failure once, after its last restart",
    async run(harness) {
      let crashes = 0;
      const writer = agentOf("writer", async () => {
        throw new Error(`crash ${++crashes}`);
      });
      const lead = agentOf("lead", async (ctx) => {
        const { status, stopReason } = await ctx.join(await ctx.spawn(writer, "work"));
        return [status, stopReason, await ctx.step("count", () => crashes >= 3)];
      });
      await onRuntime(harness, { agents: [lead, writer], maxRestarts: 2 }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        assert.deepEqual((await root.result()).output, ["failed", "error", true]);
        assert.equal(only(await historyOf(root), "run.end").length, 2);
      });
    },
  },
  {
    name: "6.6 a run that waits for several children learns of each in order, and continues when its code does",
    async run(harness) {
      const child = agentOf("child", (ctx) => ctx.waitFor("end"));
      const lead = agentOf("lead", async (ctx) => {
        const handles = [];
        for (let number = 0; number < 4; number++) handles.push(await ctx.spawn(child, "work"));
        const heard: Json[] = [];
        const joined = handles.map(async (handle) => {
          const { output } = await ctx.join(handle);
          heard.push(output);
          // Goes on after the second only: the others are heard of while the run waits.
          if (output === 2) heard.push(await ctx.step("work", () => "worked"));
        });
        await Promise.all(joined);
        return heard;
      });
      await onRuntime(harness, { agents: [lead, child] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        await reaches(root, "waiting");
        for (let number = 1; number <= 4; number++) {
          const run = runtime.run(RunId.of(root.treeId, number));
          await run.signal("end", number);
          await run.result();
        }
        const { output, status } = await root.result();
        assert.equal(status, "completed");
        const heard = Json.as<readonly Json[]>(output);
        assert.deepEqual(
          heard.filter((entry) => entry !== "worked"),
          [1, 2, 3, 4],
        );
        assert.ok(heard.indexOf("worked") > heard.indexOf(2));
      });
    },
  },
  {
    name: "6.7 when a run ends, completed or failed, everything below it is cancelled with stopReason parent-ended",
    async run(harness) {
      const middle = agentOf("middle", async (ctx) => {
        await ctx.spawn(leaf, "wait");
        await ctx.waitFor("never");
      });
      const upper = agentOf("upper", async (ctx, inbox) => {
        await ctx.spawn(middle, "wait");
        const message = await inbox.next();
        await ctx.waitFor("go");
        if (message?.text === "fail") throw new Error("failed");
      });
      const lead = agentOf("lead", async (ctx) => {
        const handles = [await ctx.spawn(upper, "return"), await ctx.spawn(upper, "fail")];
        const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
        await ctx.waitFor("end");
        return results.map(({ status }) => status);
      });
      await onRuntime(harness, { agents: [lead, upper, middle, leaf], maxRestarts: 0 }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const leaves = await waitForAdmitted(root, "leaf", 2);
        const [, , ...lower] = [
          ...(await waitForAdmitted(root, "upper", 2)),
          ...(await waitForAdmitted(root, "middle", 2)),
          ...leaves,
        ];
        await Promise.all(leaves.map((run) => reaches(runtime.run(run), "waiting")));
        for (const run of await waitForAdmitted(root, "upper", 2)) {
          await runtime.run(run).signal("go");
        }
        const results = await Promise.all(lower.map((run) => runtime.run(run).result()));
        assert.deepEqual(
          results.map(({ status, stopReason }) => [status, stopReason]),
          lower.map(() => ["cancelled", "parent-ended"]),
        );
        await root.signal("end");
        assert.deepEqual((await root.result()).output, ["completed", "failed"]);
      });
    },
  },
  {
    name: "6.7 a detached child outlives its parent: the root adopts it, can join it, and ends it at its own end",
    async run(harness) {
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("go"));
      const middle = agentOf("middle", async (ctx) => [
        Json.of(await ctx.spawn(writer, "a", { detached: true })),
        Json.of(await ctx.spawn(writer, "b", { detached: true })),
      ]);
      const lead = agentOf("lead", async (ctx) => {
        const { output } = await ctx.join(await ctx.spawn(middle, "work"));
        const [first] = Json.as<readonly ChildHandle[]>(output);
        return first ? (await ctx.join(first)).output : "none";
      });
      await onRuntime(harness, { agents: [lead, middle, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const [first, second] = (await waitForAdmitted(root, "writer", 2)).map((run) => runtime.run(run));
        assert.ok(first && second);
        await waitForEvent(root, "run.end", ({ agent }) => agent === middle.id);
        await reaches(root, "waiting");
        assert.notEqual(await second.status(), "cancelled");
        await first.signal("go", "alive");
        assert.equal((await root.result()).output, "alive");
        const { status, stopReason } = await second.result();
        assert.deepEqual([status, stopReason], ["cancelled", "parent-ended"]);
      });
    },
  },
  {
    name: "6.7 a tree ends when its last run is terminal, and only then its result is there",
    async run(harness) {
      const begun = Promise.withResolvers<void>();
      const writer = agentOf("writer", async (ctx) => {
        // Takes its time to notice that it was cancelled.
        await ctx.step("stubborn", async ({ signal }) => {
          begun.resolve();
          await new Promise((resolve) =>
            signal.addEventListener("abort", () => setTimeout(resolve, 200), { once: true }),
          );
        });
      });
      const lead = agentOf("lead", async (ctx) => {
        await ctx.spawn(writer, "work");
        await ctx.waitFor("end");
        return "done";
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const root = await runtime.start(lead, "go");
        const [run] = (await waitForAdmitted(root, "writer", 1)).map((each) => runtime.run(each));
        await begun.promise;
        await root.signal("end");
        const { status, output } = await root.result();
        assert.deepEqual([status, output, await run?.status()], ["completed", "done", "cancelled"]);
        const ends = only(await historyOf(root), "run.end").map(({ agent }) => agent);
        assert.deepEqual(ends, ["lead", "writer"]);
      });
    },
  },
];

/** The first runs of an agent that were admitted, once there are so many. */
async function waitForAdmitted(
  root: Parameters<typeof waitForEvent>[0],
  agent: string,
  count: number,
): Promise<readonly ChildHandle["runId"][]> {
  const found: ChildHandle["runId"][] = [];
  await waitForEvent(root, "spawn.admitted", ({ child, childAgent }) => {
    if (childAgent === agent) found.push(child);
    return found.length === count;
  });
  return found;
}
