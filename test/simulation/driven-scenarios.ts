import type { Json } from "#kernel";
import { say, staff, hasStatus, type Scenario } from "./staff.ts";

/** The low-priority run waits when the high-priority one comes: it loses its slot, and regains it in the end. */
export const preemption: Scenario = {
  name: "preemption",
  agents: (witness) => {
    const agent = staff(witness, "preemption");
    const low = agent("low", async (ctx) => {
      await say(ctx, "low begins");
      const word = await ctx.waitFor("go on");
      await ctx.tool("pay", null);
      return [word, await say(ctx, "low ends")];
    });
    const high = agent("high", async (ctx) => say(ctx, "high"));
    const root = agent("root", async (ctx) => {
      const lower = await ctx.spawn(low, "low", { priority: "low" });
      await ctx.waitFor("hire");
      const higher = await ctx.spawn(high, "high", { priority: "high", onFull: "wait" });
      const done: Json[] = [(await ctx.join(higher)).output];
      await ctx.emit("high is done");
      done.push((await ctx.join(lower)).output);
      return done;
    });
    return [root, low, high];
  },
  async drive(client) {
    const run = await client.start({ spawn: { maxAgents: 2 } });
    const low = client.run(`${run.treeId}~1`);
    await client.waitUntil(() => hasStatus(low, "waiting"));
    await client.surely(() => run.signal("hire", null, { id: "hire" }));
    await client.waitUntil(() => hasStatus(low, "paused"));
    await client.surely(() => low.signal("go on", "now", { id: "go-on" }));
    return run;
  },
};

/**
 * The low-priority run works when the high-priority one comes: it finishes its call, yields, and continues in the end.
 */
export const yielding: Scenario = {
  name: "yielding",
  agents: (witness) => {
    const agent = staff(witness, "yielding");
    const low = agent("low", async (ctx) => {
      for (const text of ["one", "two", "three"]) await say(ctx, text);
      await ctx.tool("mail", null);
      return "low is done";
    });
    const high = agent("high", async (ctx) => say(ctx, "high"));
    const root = agent("root", async (ctx) => {
      const handles = [
        await ctx.spawn(low, "low", { priority: "low" }),
        await ctx.spawn(high, "high", { priority: "high", onFull: "wait" }),
      ];
      const results = await Promise.all(handles.map((handle) => ctx.join(handle)));
      return results.map(({ output }) => output);
    });
    return [root, low, high];
  },
  drive: (client) => client.start({ spawn: { maxAgents: 2 } }),
};

/** Runs that communicate: messages, topics, a conversation with turns, and a child that outlives its parent. */
export const talking: Scenario = {
  name: "talking",
  agents: (witness) => {
    const agent = staff(witness, "talking");
    const listener = agent("listener", async (ctx, inbox) => {
      const heard: Json[] = [];
      for (let index = 0; index < 3; index++) heard.push((await inbox.next({ waitS: 3_600 }))?.text ?? null);
      await ctx.tool("pay", heard);
      return heard;
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(listener, "first", { detached: true });
      await ctx.send(handle, "second");
      return handle.runId;
    });
    const root = agent("root", async (ctx, inbox) => {
      await inbox.next();
      await ctx.join(await ctx.spawn(lead, "lead"));
      await ctx.send(listener.id, "third");
      await ctx.waitFor("all heard");
      const word = await inbox.next({ waitS: 3_600 });
      return [word?.text ?? null, await say(ctx, "over")];
    });
    return [root, lead, listener];
  },
  async drive(client) {
    const run = await client.start({ session: "talk" });
    await client.surely(() => run.send("a word", { id: "word" }));
    const listener = client.run(`${run.treeId}~2`);
    await client.waitUntil(() => hasStatus(listener, "completed"));
    await client.surely(() => run.signal("all heard", null, { id: "all-heard" }));
    return run;
  },
};

/** A user pauses it, resumes it and tops it up; then its code throws once. */
export const handled: Scenario = {
  name: "held, resumed, restarted",
  agents: (witness) => {
    const agent = staff(witness, "held-resumed-restarted");
    const thrown = new Set<string>();
    return [
      agent("handled", async (ctx) => {
        const first = await say(ctx, "before");
        await ctx.waitFor("go");
        await ctx.tool("mail", null);
        const isFirst = !thrown.has(ctx.supervision.treeId);
        thrown.add(ctx.supervision.treeId);
        if (isFirst) throw new Error("a fault of its own");
        return [first, await say(ctx, "after")];
      }),
    ];
  },
  async drive(client) {
    const run = await client.start({ budget: { maxTokens: 10_000 } });
    await client.waitUntil(() => hasStatus(run, "waiting"));
    await client.surely(() => run.pause());
    await client.waitUntil(() => hasStatus(run, "paused"));
    await client.surely(() => run.reprioritize("high"));
    await client.surely(() => run.topUp({ maxTokens: 100 }));
    await client.surely(() => run.signal("go", null, { id: "go" }));
    await client.surely(() => run.resume());
    return run;
  },
};

export const cancelled: Scenario = {
  name: "cancel",
  agents: (witness) => {
    const agent = staff(witness, "cancel");
    const worker = agent("worker", async (ctx) => {
      await say(ctx, "working");
      await ctx.tool("pay", null);
      await ctx.waitFor("never");
      return "not reached";
    });
    const root = agent("root", async (ctx) => {
      await say(ctx, "hiring");
      const spawned = await Promise.all(["a", "b"].map((task) => ctx.spawn(worker, task)));
      for (const handle of spawned) await ctx.join(handle);
      return "not reached";
    });
    return [root, worker];
  },
  async drive(client) {
    const run = await client.start();
    const runs = [1, 2].map((number) => client.run(`${run.treeId}~${number}`));
    for (const handle of [...runs, run]) await client.waitUntil(() => hasStatus(handle, "waiting"));
    await client.surely(() => run.cancel("changed our minds"));
    return run;
  },
};
