import {
  AgentId,
  Json,
  RetryableError,
  RunId,
  TreeId,
  type Agent,
  type Engine,
  type ExecutionPrimitives,
  type Operation,
} from "#kernel";
import { tool } from "#agents";
import { local } from "#engines/local";
import { Runtime } from "#runtime";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ArmedTimers } from "../../src/run/driver/armed-timers.ts";
import { Refusals } from "../../src/run/driver/refusals.ts";

const agentOf = (run: Agent["run"], rest: Omit<Agent, "id" | "run"> = {}, name = "worker"): Agent => ({
  id: AgentId.of(name),
  run,
  ...rest,
});

/** A local engine with some primitives replaced. */
function engineWith(
  change: (primitives: ExecutionPrimitives) => Partial<ExecutionPrimitives>,
  engine = local(),
): Engine {
  const define: Engine["define"] = (program) =>
    engine.define({
      ...program,
      run: (primitives) => program.run({ ...primitives, ...change(primitives) }),
    });
  return { ...engine, define };
}

function toOtherVersion({ launch }: ExecutionPrimitives): Partial<ExecutionPrimitives> {
  const input = Object.assign({}, launch.input, { version: "another" });
  return { launch: { ...launch, input: Json.of(input) } };
}

test("each report reaches the tree once while its calls succeed", async () => {
  const numbers: number[] = [];
  const engine = engineWith((primitives) => ({
    call: (to, method, argument) => {
      const { reports = [] } = Json.as<{ readonly reports?: readonly { readonly number: number }[] }>(
        argument,
      );
      numbers.push(...reports.map(({ number }) => number));
      return primitives.call(to, method, argument);
    },
  }));
  const worker = agentOf(async (ctx) => {
    for (const step of [1, 2, 3]) {
      ctx.record("cycle.start", { step });
      ctx.record("cycle.end", { step });
      await ctx.emit(step);
    }
  });
  await using runtime = new Runtime({ agents: [worker], engine });
  await (await runtime.start(worker, "go")).result();
  expect(numbers).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a wait that begins after another timed out has its full duration, even beside a step", async () => {
  const clock = manualClock(0);
  const { promise, resolve } = Promise.withResolvers<null>();
  const worker = agentOf(async (ctx) => {
    const step = ctx.step("work", () => promise);
    await ctx.sleepUntil(60_000);
    const signal = await ctx.waitFor("news", { timeoutS: 60 });
    await step;
    return signal;
  });
  await using runtime = new Runtime({ agents: [worker], clock, engine: local({ clock }) });
  const run = await runtime.start(worker, "go");
  await clock.advance(0);
  await clock.advance(60_000);
  await clock.advance(59_000);
  await run.signal("news", "in time");
  await clock.advance(0);
  resolve(null);
  expect((await run.result()).output).toBe("in time");
});

test.each([1, 60])("inbox.next waits up to %d s for a message", async (waitS) => {
  const clock = manualClock(0);
  const worker = agentOf(async (ctx, inbox) => {
    await inbox.next();
    const message = await inbox.next({ waitS });
    return [message?.text ?? null, (await inbox.next({ waitS }))?.text ?? null, await ctx.now()];
  });
  await using runtime = new Runtime({ agents: [worker], clock, engine: local({ clock }) });
  const run = await runtime.start(worker, "go");
  await clock.advance(0);
  await clock.advance(waitS * 500);
  await run.send("hello");
  await clock.advance(0);
  await clock.advance(waitS * 1_000);
  expect((await run.result()).output).toEqual(["hello", null, waitS * 1_500]);
});

test("inbox items delivered together with the awaited one are kept for the run", async () => {
  const held = Promise.withResolvers<null>();
  const worker = agentOf(async (ctx) => {
    if (ctx.state !== null) return [ctx.state, await ctx.waitFor("second", { timeoutS: 0.05 })];
    const step = ctx.step("work", () => held.promise);
    const first = await ctx.waitFor("first");
    void step;
    return ctx.continueAs(first);
  });
  // The run receives both signals at once: no other item wakes it.
  const engine = engineWith((primitives) => ({ wake: () => primitives.wake("never") }));
  await using runtime = new Runtime({ agents: [worker], engine });
  const run = await runtime.start(worker, "go");
  await run.signal("first", 1);
  await run.signal("second", 2);
  held.resolve(null);
  expect((await run.result()).output).toEqual([1, 2]);
});

test("two takes at once deliver more items than a reply holds, in order", async () => {
  const held = Promise.withResolvers<null>();
  const worker = agentOf(async (ctx, inbox) => {
    await inbox.next();
    await ctx.step("work", () => held.promise);
    const messages = await Promise.all([inbox.next(), inbox.next()]);
    while (messages.at(-1)) messages.push(await inbox.next());
    return messages.map((message) => message?.text ?? null);
  });
  // Without wake-ups, all messages stay in the inbox until the run takes them.
  const engine = engineWith((primitives) => ({ wake: () => primitives.wake("never") }));
  await using runtime = new Runtime({ agents: [worker], engine });
  const run = await runtime.start(worker, "go");
  const texts = Array.from({ length: 100 }, (_, index) => `message ${index}`);
  for (const text of texts) await run.send(text);
  held.resolve(null);
  expect((await run.result()).output).toEqual([...texts, null]);
});

test("a run of another version waits for its worker, and ends when it is cancelled", async () => {
  const clock = manualClock(0);
  const worker = agentOf(async () => "never");
  const engine = engineWith(toOtherVersion, local({ clock }));
  await using runtime = new Runtime({ agents: [worker], clock, engine });
  const run = await runtime.start(worker, "go");
  await clock.advance(1_000);
  expect(await run.status()).toBe("running");
  void run.cancel("enough").catch(() => undefined); // the runtime may close before the receipt
  // Its tree would end it after ten seconds.
  for (let second = 0; second < 9; second++) await clock.advance(1_000);
  expect(await run.status()).toBe("cancelled");
});

test.each(["step", "tool"] as const)("a %s is repeated if its run must yield", async (kind) => {
  const clock = manualClock(0);
  let tries = 0;
  const begun = Promise.withResolvers<void>();
  const work = ({ signal }: { readonly signal: AbortSignal }): Promise<Json> => {
    if (++tries > 1) return Promise.resolve("made");
    begun.resolve();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const act = tool({
    name: "act",
    description: "",
    input: z.object({}),
    risk: "safe",
    idempotent: true,
    execute: (_, call) => work(call),
  });
  const slow = agentOf(
    async (ctx) => (kind === "step" ? ctx.step("work", work) : Json.of((await ctx.tool("act", {})).value)),
    { tools: [act] },
    "slow",
  );
  const urgent = agentOf(async () => "done", {}, "urgent");
  const lead = agentOf(
    async (ctx) => {
      const child = await ctx.spawn(slow, "go");
      await ctx.waitFor("begun");
      const other = await ctx.spawn(urgent, "go", { priority: "critical", onFull: "wait" });
      await ctx.join(other);
      return (await ctx.join(child)).output;
    },
    {},
    "lead",
  );
  await using runtime = new Runtime({ agents: [lead, slow, urgent], clock, engine: local({ clock }) });
  const run = await runtime.start(lead, "go", { spawn: { maxAgents: 2 } });
  await begun.promise;
  await run.signal("begun");
  await clock.advance(0);
  await clock.advance(60_000);
  expect((await run.result()).output).toBe("made");
  expect(tries).toBe(2);
});

test.each([
  [2_000, 0],
  [6_000, 2],
])("a retry after %d ms takes %d entries of the journal", async (baseMs, entries) => {
  const clock = manualClock(0);
  let failures = 0;
  const worker = agentOf(async (ctx) => {
    const lengths = [];
    for (const fails of [false, true]) {
      const before = ctx.journalLength;
      const work = (): null => {
        if (fails && failures++ === 0) throw new RetryableError({ message: "not now" });
        return null;
      };
      await ctx.step("work", work, { retry: { baseMs } });
      lengths.push(ctx.journalLength - before);
    }
    const [without = 0, retried = 0] = lengths;
    return retried - without;
  });
  await using runtime = new Runtime({ agents: [worker], clock, engine: local({ clock }) });
  const run = await runtime.start(worker, "go");
  await clock.advance(0);
  await clock.advance(baseMs);
  expect(Number((await run.result()).output) > 0).toBe(entries > 0);
});

test("a run that was never spawned is pending, and a child without a task has no first message", async () => {
  const child = agentOf(async () => null, {}, "child");
  const worker = agentOf(async (ctx) => {
    const { firstMessage } = await ctx.spawn(child, null);
    return [await ctx.status(RunId.of(TreeId.of("t"), 99)), firstMessage];
  });
  await using runtime = new Runtime({ agents: [worker, child], engine: local() });
  expect((await (await runtime.start(worker, "go", { id: "t" })).result()).output).toEqual(["pending", null]);
});

test("after a hundred refused calls the code of a cancelled run is abandoned", () => {
  const refusals = new Refusals();
  const told = Array.from({ length: 102 }, () => refusals.countCall());
  expect(told.filter(Boolean)).toHaveLength(100);
});

test("a timer that fires before the next is due is not a new entry of the journal", () => {
  const armed: number[] = [];
  const operation: Operation = { outcome: null, isFirst: true, cancel: () => undefined };
  const timers = new ArmedTimers({ sleepUntil: (at) => (armed.push(at), { ...operation }) });
  const first = timers.arm(100);
  expect(timers.arm(200)).toBe(first);
  const earlier = timers.arm(50);
  expect([timers.take(first), timers.take(earlier), timers.take(first)]).toEqual([null, 50, 100]);
  expect(armed).toEqual([100, 50]);
});

test("agent middleware decides the final answer, and the asker gets it", async () => {
  const child = agentOf(
    async (ctx, inbox) => {
      const task = await inbox.next();
      if (task) await ctx.reply(task, "too early");
      return { draft: 1 };
    },
    {
      policy: {
        agent: [{ process: async (context, next) => (await next(), void (context.result = { final: 2 })) }],
      },
    },
    "child",
  );
  const worker = agentOf(async (ctx) => {
    const { kind, text, data, handle } = {
      text: "",
      data: null,
      ...(await ctx.ask(child, "go", { timeoutS: 5 })),
    };
    return [kind, text, data, (await ctx.join(handle)).output];
  });
  await using runtime = new Runtime({ agents: [worker, child], engine: local() });
  const { output } = await (await runtime.start(worker, "go")).result();
  expect(output).toEqual(["replied", '{"final":2}', { final: 2 }, { final: 2 }]);
});

test("an event that JSON cannot hold is refused where it is recorded", async () => {
  const worker = agentOf(async (ctx) => ctx.record("cycle.start", { step: Json.as<number>(Json.of(10n)) }));
  await using runtime = new Runtime({ agents: [worker], engine: local(), maxRestarts: 0 });
  const { error } = await (await runtime.start(worker, "go")).result();
  expect(error?.message).toMatch(/^the data of an event cannot be encoded/);
});

test("a step with long retry delays also gives up after its last retry", async () => {
  const clock = manualClock(0);
  let tries = 0;
  const fail = (): never => {
    tries += 1;
    throw new RetryableError({ message: "not now" });
  };
  const worker = agentOf((ctx) => ctx.step("work", fail, { retry: { baseMs: 6_000 } }));
  await using runtime = new Runtime({ agents: [worker], clock, engine: local({ clock }), maxRestarts: 0 });
  const run = await runtime.start(worker, "go");
  for (const seconds of [0, 6, 12, 24]) await clock.advance(seconds * 1_000);
  expect(await run.status()).toBe("failed");
  expect(tries).toBe(4);
});

test.each([
  ["a list of tools", { tools: "all" }, ".tools is not a list"],
  ["a rule", { rules: [{ verdict: "always" }] }, ".rules[0].verdict is not a known value"],
  ["a field that is not known", { admin: true }, " has an unknown field"],
  ["a policy", { policy: { ruleOfTwo: "never" } }, ".policy.ruleOfTwo is not a known value"],
])("a run whose launch was changed fails, and its code is not called: %s", async (_, change, problem) => {
  let calls = 0;
  const engine = engineWith(({ launch }) => ({
    launch: { ...launch, input: Json.of(Object.assign({}, launch.input, change)) },
    keepsReferences: false,
  }));
  const worker = agentOf(async () => ++calls);
  await using runtime = new Runtime({ agents: [worker], engine });
  const result = await (await runtime.start(worker, "go")).result();
  expect(result).toMatchObject({ status: "failed", error: { code: "stored-value", problem } });
  expect(calls).toBe(0);
});
