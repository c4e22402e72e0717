import { AgentId, ChatMessage, Json, type Agent, type Engine, type EngineProgram } from "#kernel";
import { local } from "#engines/local";
import { Runtime, type RuntimeOptions } from "#runtime";
import { manualClock, type ManualClock, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const agentOf = (name: string, run: Agent["run"], rest: Omit<Agent, "id" | "run"> = {}): Agent => ({
  id: AgentId.of(name),
  run,
  ...rest,
});

/** An engine on which no worker executes the runs of some agents. */
function unserved(clock: ManualClock, agents: readonly string[]): Engine {
  const engine = local({ clock });
  const define = (program: EngineProgram): void =>
    engine.define({
      ...program,
      run: (primitives) => {
        const { agentId } = Json.as<{ readonly agentId: string }>(primitives.launch.input);
        return agents.includes(agentId) ? new Promise(() => undefined) : program.run(primitives);
      },
    });
  return { ...engine, define };
}

const dead = agentOf("dead", async () => "never");

function runtimeOf(clock: ManualClock, options: Pick<RuntimeOptions, "agents">): Runtime {
  return new Runtime({ ...options, clock, engine: unserved(clock, ["dead"]) });
}

/** Lets everything happen that needs no time. */
const settle = (clock: ManualClock): Promise<void> => clock.advance(0);

test("a cancelled run that nothing executes is ended by its tree after the grace, and not before", async () => {
  const clock = manualClock();
  await using runtime = runtimeOf(clock, { agents: [dead] });
  const run = await runtime.start(dead, "go", { session: "s" });
  const receipt = run.cancel("give up");
  await settle(clock);
  await clock.advance(9_999);
  expect(await run.status()).toBe("running");
  expect(await runtime.turn("s")).toBe(run.treeId);
  await clock.advance(1);
  expect((await receipt).runs).toMatchObject([{ runId: run.runId, tookMs: 10_000 }]);
  expect(await run.result()).toMatchObject({ status: "cancelled", stopReason: "cancelled", output: null });
  expect(await runtime.turn("s")).toBeNull();
});

test("a deadline ends a run that nothing executes: its parent's join returns, and its slot is free", async () => {
  const clock = manualClock();
  const lead = agentOf("lead", async (ctx) => {
    const child = await ctx.spawn(dead, "work", { budget: { deadlineS: 60 } });
    const { status, stopReason } = await ctx.join(child);
    await ctx.spawn(dead, "again"); // needs the slot of the first
    return [status, stopReason];
  });
  await using runtime = runtimeOf(clock, { agents: [lead, dead] });
  const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2, allowPreempt: false } });
  await settle(clock);
  await clock.advance(60_000);
  expect(await run.status()).toBe("waiting");
  await clock.advance(12_000);
  await clock.advance(10_000); // the second child, left behind by its parent
  expect(await run.result()).toMatchObject({ status: "completed", output: ["cancelled", "deadline"] });
});

test("a queued run and a held run end at their deadline", async () => {
  const clock = manualClock();
  const idle = agentOf("idle", async (ctx) => ctx.waitFor("never"));
  const lead = agentOf("lead", async (ctx) => {
    await ctx.spawn(idle, "first");
    const queued = await ctx.spawn(idle, "second", { onFull: "wait" });
    return (await ctx.join(queued)).stopReason;
  });
  await using runtime = runtimeOf(clock, { agents: [lead, idle] });
  const run = await runtime.start(lead, "go", {
    deadlineS: 30,
    spawn: { maxAgents: 2, allowPreempt: false },
  });
  await settle(clock);
  await runtime.run(`${run.treeId}~1`).pause();
  await settle(clock);
  await clock.advance(45_000);
  expect(await run.result()).toMatchObject({ status: "cancelled", stopReason: "deadline" });
});

test("an open call of a run that its tree ended is in doubt, and its execution begins nothing more", async () => {
  const clock = manualClock();
  let calls = 0;
  const model = {
    ...scriptedModel([say("late")], { price: { input: 1_000_000, output: 1_000_000 }, maxOutputTokens: 100 }),
    // Ignores its signal, as a library may.
    generate: () => {
      calls += 1;
      return new Promise<never>(() => undefined);
    },
  };
  const hello = [ChatMessage.user("hello")];
  const caller = agentOf("caller", async (ctx) => ctx.llm(hello).then(() => "answered"), { model });
  // The driver abandons an unresponsive call after a second; here the call never gets the cancel.
  const engine = local({ clock });
  const deaf: Engine = {
    ...engine,
    define: (program) =>
      engine.define({
        ...program,
        run: (primitives) =>
          program.run({
            ...primitives,
            waitForCancel: () => primitives.wake("never"),
            wake: () => primitives.wake("no"),
          }),
      }),
  };
  await using runtime = new Runtime({ agents: [caller], clock, engine: deaf });
  const run = await runtime.start(caller, "go", { budget: { maxCostUsd: 1 } });
  await settle(clock);
  expect(calls).toBe(1);
  void run.cancel("give up").catch(() => undefined); // the runtime may close before the receipt
  await settle(clock);
  await clock.advance(10_000);
  const { status, inDoubtMicros, costMicros } = await run.result();
  expect(status).toBe("cancelled");
  expect(inDoubtMicros).toBeGreaterThan(0);
  expect(costMicros).toBe(inDoubtMicros);
});

test("a tree without deadline and cancel arms no timer", async () => {
  const clock = manualClock();
  await using runtime = runtimeOf(clock, { agents: [dead] });
  await runtime.start(dead, "go");
  await settle(clock);
  expect(clock.waiting).toBe(0);
});
