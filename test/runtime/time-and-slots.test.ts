import { AgentId, ChatMessage, Json, type Agent, type Model } from "#kernel";
import { local } from "#engines/local";
import { Runtime } from "#runtime";
import { manualClock, type ManualClock } from "reeve/testing";
import { expect, test } from "vitest";

const agentOf = (name: string, run: Agent["run"], rest: Omit<Agent, "id" | "run"> = {}): Agent => ({
  id: AgentId.of(name),
  run,
  ...rest,
});

const runtimeOn = (clock: ManualClock, agents: readonly Agent[]): Runtime =>
  new Runtime({ agents, clock, engine: local({ clock }) });

test("a prompt without a bound is refused under a run's own cap as well", async () => {
  const image = Json.as<ChatMessage>({
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: "AAAA" }],
  });
  const model: Model = {
    id: "m",
    price: { input: 1_000_000, output: 1_000_000 },
    generate: async () => ({
      message: ChatMessage.assistant("ok"),
      usage: { input: 9_000, output: 1 },
      finishReason: "stop",
    }),
  };
  const viewer = agentOf("viewer", async (ctx) => void (await ctx.llm([image])), {
    model,
    budget: { maxTokens: 1_000 },
  });
  await using runtime = new Runtime({ agents: [viewer], engine: local() });
  const { stopReason, usage } = await (await runtime.start(viewer, "go")).result();
  expect([stopReason, usage.input]).toEqual(["budget.tokens", 0]);
});

test("the time of a tree that waits for its session's turn runs from its turn", async () => {
  const clock = manualClock();
  const slow = agentOf("slow", async (ctx) => ctx.waitFor("go"));
  const quick = agentOf("quick", async (ctx) => ctx.step("work", () => "done"));
  await using runtime = runtimeOn(clock, [slow, quick]);
  const first = await runtime.start(slow, "go", { session: "talk" });
  const second = await runtime.start(quick, "go", { session: "talk", onBusy: "queue", deadlineS: 30 });
  await clock.advance(60_000);
  await first.signal("go");
  await clock.advance(0);
  expect(await second.result()).toMatchObject({ status: "completed", output: "done" });
});

test("a run woken by a timer holds its slot, and the run that preempts it waits for its step", async () => {
  const clock = manualClock();
  const finish = Promise.withResolvers<null>();
  const order: string[] = [];
  const worker = agentOf("worker", async (ctx) => {
    await ctx.sleepUntil((await ctx.now()) + 100);
    return ctx.step("work", async () => {
      order.push("work begins");
      await finish.promise;
      order.push("work ends");
      return null;
    });
  });
  const taker = agentOf("taker", async (ctx) => ctx.step("take", () => void order.push("taker")));
  const lead = agentOf("lead", async (ctx) => {
    const low = await ctx.spawn(worker, "work", { priority: "low" });
    await ctx.sleepUntil((await ctx.now()) + 200);
    await ctx.join(await ctx.spawn(taker, "take", { priority: "high", onFull: "wait" }));
    return (await ctx.join(low)).status;
  });
  await using runtime = runtimeOn(clock, [lead, worker, taker]);
  const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
  await clock.advance(0);
  await clock.advance(1_000);
  expect(order).toEqual(["work begins"]);
  finish.resolve(null);
  await clock.advance(0);
  expect((await run.result()).status).toBe("completed");
  expect(order).toEqual(["work begins", "work ends", "taker"]);
});
