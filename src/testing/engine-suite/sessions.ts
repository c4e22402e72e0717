import assert from "node:assert/strict";
import { SessionBusyError } from "#kernel";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf } from "./history.ts";

const speaker = agentOf("speaker", async (ctx, inbox) => {
  const task = await inbox.next();
  await ctx.waitFor("go");
  return task?.text ?? null;
});

/** Trees that take turns in one conversation. */
export const sessionCases: readonly EngineCase[] = [
  {
    name: "8.1 a busy session refuses another turn at once, and the turn in progress is unaffected",
    async run(harness) {
      await onRuntime(harness, { agents: [speaker] }, async (runtime) => {
        const first = await runtime.start(speaker, "one", { session: "talk" });
        await assert.rejects(runtime.start(speaker, "two", { id: "two", session: "talk" }), SessionBusyError);
        await assert.rejects(runtime.run("two").status(), "nothing was written");
        await (await runtime.start(speaker, "elsewhere", { session: "other" })).cancel();
        await (await runtime.start(speaker, "of another tenant", { session: "talk", tenant: "b" })).cancel();
        await first.signal("go");
        assert.equal((await first.result()).output, "one");
        await eventually("the turn is free", async () => {
          try {
            await runtime.start(speaker, "two", { id: "two", session: "talk" });
            return true;
          } catch (error) {
            assert.ok(error instanceof SessionBusyError);
            return false;
          }
        });
        await runtime.run("two").signal("go");
        assert.equal((await runtime.run("two").result()).output, "two");
      });
    },
  },
  {
    name: "8.1 two users of a tenant with equal session names each have a turn",
    async run(harness) {
      await onRuntime(harness, { agents: [speaker] }, async (runtime) => {
        const owners = [{ tenant: "acme" }, { tenant: "acme", user: "ada" }, { tenant: "acme", user: "bob" }];
        const runs = [];
        for (const owner of owners)
          runs.push(await runtime.start(speaker, "go", { ...owner, session: "talk" }));
        for (const [index, owner] of owners.entries()) {
          assert.equal(await runtime.turn("talk", owner), runs[index]?.treeId);
          await assert.rejects(
            runtime.start(speaker, "two", { ...owner, session: "talk" }),
            SessionBusyError,
          );
        }
        for (const run of runs) await run.cancel();
      });
    },
  },
  {
    name: "8.1 trees that queue for a session take turns, oldest first; a cancelled one loses its place",
    async run(harness) {
      await onRuntime(harness, { agents: [speaker] }, async (runtime) => {
        const queue = { session: "talk", onBusy: "queue" } as const;
        const first = await runtime.start(speaker, "one", queue);
        const second = await runtime.start(speaker, "two", { ...queue, deadlineS: 3_600 });
        const third = await runtime.start(speaker, "three", queue);
        const fourth = await runtime.start(speaker, "four", queue);
        for (const waiting of [second, third, fourth]) assert.equal(await waiting.status(), "pending");
        const { runs } = await third.cancel("changed my mind");
        assert.deepEqual(
          runs.map(({ runId }) => runId),
          [third.runId],
        );
        for (const run of [first, second, fourth]) await run.signal("go");
        const results = await Promise.all([first, second, third, fourth].map((run) => run.result()));
        assert.deepEqual(
          results.map(({ output, status }) => output ?? status),
          ["one", "two", "cancelled", "four"],
        );
        const [before, after] = await Promise.all([historyOf(second), historyOf(fourth)]);
        assert.ok(
          (before.at(-1)?.at ?? Infinity) <= (after[0]?.at ?? 0),
          "the fourth began after the second",
        );
      });
    },
  },
  {
    name: "8.1 a tree that asks again gets the same turn, whichever tree has the turn now",
    async run(harness) {
      await onRuntime(harness, { agents: [speaker] }, async (runtime) => {
        const start = (id: string) => runtime.start(speaker, id, { id, session: "talk" });
        const first = await start("one");
        await start("one");
        await first.signal("go");
        assert.equal((await first.result()).output, "one");
        await eventually("the turn is free", async () =>
          start("two").then(
            () => true,
            () => false,
          ),
        );
        assert.equal((await (await start("one")).result()).output, "one");
        assert.equal(await runtime.run("two").status(), "waiting");
        await runtime.run("two").cancel();
      });
    },
  },
];
