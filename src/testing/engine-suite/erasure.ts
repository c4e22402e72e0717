import assert from "node:assert/strict";
import { type Agent, RunId, TenantId, UserId } from "#kernel";
import { agent, tool } from "#agents";
import type { Runtime, RunHandle } from "#runtime";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { anyInput } from "./any-input.ts";
import { agentOf, type EngineCase, eventually, forever, onRuntime } from "./harness.ts";
import { historyOf } from "./history.ts";

const canary = "the canary sings";
const own = { tenant: "acme", user: "ann" };
const acme = { tenantId: TenantId.of("acme") };
const ann = UserId.of("ann");

const look = tool({
  name: "look",
  description: "Looks something up",
  input: anyInput,
  risk: "safe",
  execute: () => canary,
});

/** An agent whose permanent turns leave content in results, steps and events. */
function createWriter(turns: number): Agent<string> {
  const turn = [call("look", { for: canary }), say(canary)] as const;
  return agent({
    name: "writer",
    model: scriptedModel([...turn, ...Array.from({ length: turns - 1 }, () => turn).flat()]),
    tools: [look],
  });
}

/** The tree of a run, as another process sees it. */
const elsewhere = (runtime: Runtime, { treeId }: Pick<RunHandle, "treeId">): RunHandle =>
  runtime.run(treeId, { tenant: "acme" });

/** Returns everything that can be read of a tree, as text. */
async function readTree(runtime: Runtime, started: Pick<RunHandle, "treeId">): Promise<string> {
  const run = elsewhere(runtime, started);
  const { items } = await runtime.steps(run.runId, { tenant: "acme" });
  const steps = await Promise.all(items.map(({ stepId }) => runtime.prompt(stepId, { tenant: "acme" })));
  return JSON.stringify([await run.resultNow(), await historyOf(run), await run.approvals(), steps]);
}

const has = (text: string): boolean => text.includes(canary);

/** Section 8.7: what people ask to be erased. */
export const erasureCases: readonly EngineCase[] = [
  {
    name: "8.7 deleting a conversation erases what its turns have left, and nothing of others",
    run: (harness) => {
      const writer = createWriter(3);
      return onRuntime(harness, { agents: [writer], store: memoryStore() }, async (runtime) => {
        const [talk, other] = await Promise.all(
          ["talk", "other"].map((id) => runtime.sessions.create(writer, { id, ...own })),
        );
        assert.ok(talk && other);
        const turns: RunHandle<string>[] = [];
        for (const each of [talk, talk, other]) {
          const turn = await each.start(canary);
          assert.equal((await turn.result()).status, "completed");
          await each.waitForIdle();
          await eventually("its steps are stored", async () => has(await readTree(runtime, turn)));
          turns.push(turn);
        }
        await talk.delete();
        const [first, second, third] = await Promise.all(turns.map((turn) => readTree(runtime, turn)));
        assert.deepEqual(
          [first, second, third].map((text) => has(text ?? "")),
          [false, false, true],
        );
        const { output, erased, status } = await elsewhere(runtime, turns[0] ?? assert.fail()).result();
        assert.deepEqual([output, erased, status], [null, true, "completed"]);
        await assert.rejects(runtime.sessions.get("talk", own), { code: "not-found" });
        assert.equal((await other.messages()).items.length, 4);
        assert.equal((await runtime.runs.list({ tenant: "acme" })).items.length, 3);
      });
    },
  },
  {
    name: "8.7 deleting a conversation cancels its turn, and those that wait for it",
    run: (harness) => {
      const waiter = agentOf("waiter", async (ctx) => forever(ctx));
      return onRuntime(harness, { agents: [waiter], store: memoryStore() }, async (runtime) => {
        const talk = await runtime.sessions.create(waiter, { id: "talk", ...own });
        const turn = await talk.start(canary);
        const next = await talk.start(canary, { onBusy: "queue" });
        await talk.delete();
        for (const run of [turn, next]) {
          const { status, erased } = await elsewhere(runtime, run).result();
          assert.deepEqual([status, erased], ["cancelled", true]);
        }
        await assert.rejects(runtime.sessions.get("talk", own), { code: "not-found" });
        assert.equal(await talk.phase(), "idle");
      });
    },
  },
  {
    name: "8.7 erasing a user erases the user's trees in the engine and in the store, live ones too",
    run: (harness) => {
      const waiter = agentOf("waiter", async (ctx) => forever(ctx));
      const writer = createWriter(2);
      return onRuntime(harness, { agents: [writer, waiter], store: memoryStore() }, async (runtime) => {
        const done = await runtime.start(writer, canary, own);
        const others = await runtime.start(writer, canary, { ...own, user: "bob" });
        for (const run of [done, others]) assert.equal((await run.result()).output, canary);
        const live = await runtime.start(waiter, canary, own);
        await eventually("all are listed", async () => {
          const { items } = await runtime.runs.list({ tenant: "acme", userId: ann });
          return items.length === 2;
        });
        await runtime.store.eraseUser(acme, ann);
        for (const run of [done, live]) {
          assert.equal((await elsewhere(runtime, run).result()).erased, true);
          assert.equal(await runtime.store.isErased(acme, run.treeId), true);
        }
        assert.equal((await live.result()).status, "cancelled");
        assert.equal(has(await readTree(runtime, done)), false);
        assert.equal(has(await readTree(runtime, others)), true);
        const { items } = await runtime.runs.list({ tenant: "acme" });
        assert.deepEqual(
          items.map(({ treeId }) => treeId),
          [others.treeId],
        );
      });
    },
  },
  {
    name: "8.7 a tree that its retention has erased in part is erased whole",
    run: (harness) => {
      const child = agentOf("child", async () => canary);
      const lead = agentOf("lead", async (ctx) => {
        const spawned = await ctx.spawn(child, canary, { retention: "permanent" });
        await ctx.join(spawned);
        return canary;
      });
      const options = { agents: [lead, child], store: memoryStore(), eraseAfterS: 1 };
      return onRuntime(harness, options, async (runtime) => {
        const run = await runtime.start(lead, canary, { ...own, retention: "run" });
        await eventually("its own content is erased", async () => (await run.result()).erased === true);
        const permanent = runtime.run(RunId.of(run.treeId, 1), { tenant: "acme" });
        assert.equal((await permanent.result()).output, canary);
        await eventually(
          "it is listed",
          async () => (await runtime.runs.list({ tenant: "acme" })).items.length === 2,
        );
        await runtime.store.eraseUser(acme, ann);
        assert.equal((await permanent.result()).output, null);
      });
    },
  },
];
