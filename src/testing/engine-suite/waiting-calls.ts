import assert from "node:assert/strict";
import {
  BudgetExhaustedError,
  ChatMessage,
  type Agent,
  type ChatMiddleware,
  type Model,
  type ModelResponse,
  type NumberedEvent,
  type Usage,
} from "#kernel";
import type { RunHandle } from "#runtime";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness, type SpawnHarness } from "./spawn-harness.ts";
import { ask, greedyModel, micros, prompt, tokenPrice } from "./spender.ts";

/** Room for one call of a worker in an office (4,096 tokens and its prompt), and not for two. */
const oneAtATime = { budget: { maxTokens: 8_000 } } as const;

const waitForBudgetWait = (root: RunHandle, run: RunHandle): Promise<NumberedEvent> =>
  waitForEvent(root, "budget.waiting", ({ runId }) => runId === run.runId);

/** Spawns a worker whose first call must wait. */
async function spawnWaiting(
  spawner: SpawnHarness,
  task: string,
  options?: Parameters<SpawnHarness["spawn"]>[1],
): Promise<RunHandle> {
  const run = await spawner.spawn(task, options);
  await waitForBudgetWait(spawner.root, run);
  await reaches(run, "waiting");
  return run;
}

/** A model that answers at once and uses less than it may. */
function thriftyModel(usage: Usage): Model & { readonly limits: readonly number[] } {
  const limits: number[] = [];
  return {
    id: "thrifty",
    price: tokenPrice,
    limits,
    async generate({ maxOutputTokens }): Promise<ModelResponse> {
      limits.push(maxOutputTokens);
      return { message: ChatMessage.assistant("ok"), usage, finishReason: "stop" };
    },
  };
}

/** A parent with so many children at once. Returns how each of them ended. */
function parentOf(child: Agent, count: number): Agent {
  return agentOf("parent", async (ctx) => {
    const runs = [];
    for (let index = 0; index < count; index += 1) runs.push(await ctx.spawn(child, "work"));
    return Promise.all(runs.map(async (run) => (await ctx.join(run)).status));
  });
}

/** Middleware that keeps a step open after its call was answered, as a lost worker does. */
function hangingLayer(timeoutMs: number): ChatMiddleware {
  return {
    async process(context, next) {
      const { clock, signal } = context.scope;
      context.timeoutMs = timeoutMs;
      await next();
      await clock.waitUntil(clock.now() + 600_000, signal);
    },
  };
}

/** Section 3.10: calls that do not fit beside those in flight. */
export const waitingCallCases: readonly EngineCase[] = [
  {
    name: "3.10 a call that does not fit beside calls in flight waits for them, and begins with its full output",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        const first = await spawner.spawn("a");
        const call = await spawner.call("a");
        const second = await spawnWaiting(spawner, "b");
        assert.equal(spawner.wasAsked("b"), false);
        call.answer("A");
        const next = await spawner.call("b");
        assert.equal(next.request.maxOutputTokens, 4_096);
        next.answer("B");
        assert.deepEqual([(await first.result()).output, (await second.result()).output], [["A"], ["B"]]);
        const [waited] = only(await spawner.close(), "budget.waiting");
        const { dimension, owner, limit, inFlight } = waited ?? {};
        assert.deepEqual([dimension, owner, limit, inFlight], ["tokens", null, 8_000, 1]);
        assert.ok(waited && waited.reserved > 4_096 && waited.used === waited.reserved);
      });
    },
  },
  {
    name: "3.10 five concurrent children with budget for one call at a time all complete",
    async run(harness) {
      for (const cap of [300, 200, 100]) {
        const model = thriftyModel({ input: 5, output: 8 });
        const child = agentOf("child", async (ctx) => void (await ctx.llm(prompt, { maxOutputTokens: 80 })), {
          model,
        });
        const parent = parentOf(child, 5);
        await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
          const run = await runtime.start(parent, "go", { budget: { maxCostUsd: micros(cap) } });
          const { output, costMicros } = await run.result();
          assert.deepEqual(
            output,
            Array.from({ length: 5 }, () => "completed"),
          );
          assert.equal(costMicros, 65);
          assert.equal(only(await historyOf(run), "budget.denied").length, 0);
        });
      }
    },
  },
  {
    name: "3.10 waiting calls begin by priority, then by age, and none overtakes them",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        await spawner.spawn("a c");
        const call = await spawner.call("a");
        await spawnWaiting(spawner, "low", { priority: "low" });
        await spawnWaiting(spawner, "first");
        await spawnWaiting(spawner, "second");
        await spawnWaiting(spawner, "high", { priority: "high" });
        call.answer("A");
        // The call after `a` is the newest of its priority.
        for (const word of ["high", "first", "second", "c", "low"]) {
          const next = await spawner.call(word);
          await eventually("nothing else is asked", () => spawner.model.calls.at(-1) === next);
          next.answer("ok");
        }
      });
    },
  },
  {
    name: "3.10 a waiting call of a paused run begins after the resume, if there is money by then",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        const first = await spawner.spawn("a");
        const call = await spawner.call("a");
        const second = await spawnWaiting(spawner, "b");
        await second.pause();
        await reaches(second, "paused");
        call.answer("A");
        await first.result();
        await second.resume();
        (await spawner.call("b")).answer("B");
        assert.deepEqual((await second.result()).output, ["B"]);
      });
    },
  },
  {
    name: "3.10 a call shrinks, and a run is stopped, only when nothing in flight can make room",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const child = agentOf("child", async (ctx) => void (await ctx.llm(prompt, { maxOutputTokens: 500 })), {
        model,
      });
      const parent = parentOf(child, 4);
      await onRuntime(harness, { agents: [parent, child] }, async (runtime) => {
        const run = await runtime.start(parent, "go", { budget: { maxCostUsd: micros(1_400) } });
        const { output, costMicros } = await run.result();
        // The landing share leaves 1,260: two calls get their full request, the third the rest.
        assert.deepEqual(output, ["completed", "completed", "completed", "failed"]);
        assert.equal(costMicros, 1_260);
        const [denied, ...more] = only(await historyOf(run), "budget.denied");
        assert.deepEqual([denied?.reason, denied?.reserved, more.length], ["exhausted", 0, 0]);
        const stopped = await runtime.run(denied?.runId ?? run.runId).result();
        const named = ["reason", "dimension", "owner", "limit", "used"].map(
          (field) => stopped.error?.[field],
        );
        assert.deepEqual(named, ["exhausted", "cost", null, 1_400, 1_260]);
      });
    },
  },
  {
    name: "3.10 a call does not wait for a call of its own step",
    async run(harness) {
      // The second call begins while the first is in flight, which ends when the second is decided.
      const firstCalled = Promise.withResolvers<void>();
      const secondDecided = Promise.withResolvers<void>();
      const greedy = greedyModel();
      const model: Model = {
        ...greedy,
        async generate(request, signal) {
          firstCalled.resolve();
          await secondDecided.promise;
          return greedy.generate(request, signal);
        },
      };
      const twice: ChatMiddleware = {
        async process({ scope }, next) {
          const second = firstCalled.promise.then(() => scope.llm(prompt, ask(100)));
          await Promise.all([
            next(),
            assert.rejects(second, BudgetExhaustedError).finally(secondDecided.resolve),
          ]);
        },
      };
      const agent = agentOf("agent", async (ctx) => void (await ctx.llm(prompt, ask(100))), {
        model,
        policy: { chat: [twice] },
        budget: { maxTokens: 150 },
      });
      await onRuntime(harness, { agents: [agent] }, async (runtime) => {
        const run = await runtime.start(agent, "go");
        assert.equal((await run.result()).status, "completed");
        const events = await historyOf(run);
        assert.deepEqual(
          [only(events, "budget.denied").length, only(events, "budget.waiting").length],
          [1, 0],
        );
      });
    },
  },
  {
    name: "3.10 a wait ends with a cancel and with the deadline",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        await spawner.spawn("a");
        const call = await spawner.call("a");
        const cancelled = await spawnWaiting(spawner, "b");
        // Time for its call to begin to wait, on a slow machine too.
        const late = await spawner.spawn("c", { budget: { deadlineS: 3 } });
        await waitForBudgetWait(spawner.root, late);
        await cancelled.cancel("enough");
        const stops = [await cancelled.result(), await late.result()].map(({ stopReason }) => stopReason);
        assert.deepEqual(stops, ["cancelled", "deadline"]);
        const next = await spawnWaiting(spawner, "d");
        call.answer("A");
        (await spawner.call("d")).answer("D");
        assert.deepEqual((await next.result()).output, ["D"]);
        assert.deepEqual([spawner.wasAsked("b"), spawner.wasAsked("c")], [false, false]);
      });
    },
  },
  {
    name: "3.10 a waiting call of a held run blocks no other call, and is decided when the run continues",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        await spawner.spawn("a");
        const call = await spawner.call("a");
        const held = await spawnWaiting(spawner, "b");
        await spawnWaiting(spawner, "c");
        await held.pause();
        await reaches(held, "paused");
        call.answer("A");
        const next = await spawner.call("c");
        await held.resume();
        next.answer("C");
        (await spawner.call("b")).answer("B");
        assert.deepEqual((await held.result()).output, ["B"]);
      });
    },
  },
  {
    name: "3.10 a call in flight that is lost with its run makes the waiting calls be decided again",
    async run(harness) {
      await inSpawnHarness(harness, oneAtATime, async (spawner) => {
        const first = await spawner.spawn("a");
        await spawner.call("a");
        const second = await spawnWaiting(spawner, "b");
        await first.cancel("enough");
        await first.result();
        // Amounts in doubt remain booked, so less output is left.
        const next = await spawner.call("b");
        assert.ok(next.request.maxOutputTokens < 4_096);
        next.answer("B");
        assert.deepEqual((await second.result()).output, ["B"]);
      });
    },
  },
  {
    name: "3.10 a reservation that is not settled in time is in doubt once another call waits for it",
    async run(harness) {
      const model = greedyModel({ price: tokenPrice });
      const policy = { chat: [hangingLayer(100)] };
      const gone = agentOf("gone", async (ctx) => void (await ctx.llm(prompt, ask(100))), { model, policy });
      const child = agentOf("child", async (ctx) => void (await ctx.llm(prompt, ask(100))), { model });
      const parent = agentOf("parent", async (ctx) => {
        await ctx.spawn(gone, "work");
        await ctx.waitFor("begun");
        return (await ctx.join(await ctx.spawn(child, "work"))).status;
      });
      await onRuntime(harness, { agents: [parent, gone, child] }, async (runtime) => {
        const run = await runtime.start(parent, "go", { budget: { maxCostUsd: micros(200) } });
        await waitForEvent(run, "model.start");
        await run.signal("begun");
        await waitForEvent(run, "budget.waiting");
        assert.equal((await run.result()).output, "failed");
        const [denied] = only(await historyOf(run), "budget.denied");
        assert.deepEqual([denied?.used, denied?.reserved], [100, 0]);
      });
    },
  },
];
