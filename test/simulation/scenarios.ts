import type { RunHandle } from "#runtime";
import { cancelled, handled, preemption, talking, yielding } from "./driven-scenarios.ts";
import { say, staff, type Client, type Scenario } from "./staff.ts";

const started = (client: Client): Promise<RunHandle> => client.start();

const single: Scenario = {
  name: "single agent",
  agents: (witness) => {
    const agent = staff(witness, "single-agent");
    return [
      agent("single", async (ctx, inbox) => {
        const task = await inbox.next();
        const first = await say(ctx, task?.text ?? "");
        await ctx.tool("pay", 1);
        await ctx.tool("mail", 2);
        const noted = await ctx.step("note", async ({ idempotencyKey, signal }) => {
          await witness.recordToolCall("note", idempotencyKey, signal);
          return ctx.supervision.depth;
        });
        await ctx.emit("half way");
        return [first, noted, await say(ctx, "the end")];
      }),
    ];
  },
  drive: started,
};

const fanOut: Scenario = {
  name: "fan-out",
  agents: (witness) => {
    const agent = staff(witness, "fan-out");
    const worker = agent("worker", async (ctx, inbox) => {
      const text = await say(ctx, (await inbox.next())?.text ?? "");
      await ctx.tool("pay", text);
      return text;
    });
    const root = agent("root", async (ctx) => {
      const results = await Promise.all(
        ["a", "b", "c"].map(async (task) => ctx.join(await ctx.spawn(worker, task))),
      );
      return results.map(({ output }) => output);
    });
    return [root, worker];
  },
  drive: started,
};

const threeLevels: Scenario = {
  name: "three levels",
  agents: (witness) => {
    const agent = staff(witness, "three-levels");
    const worker = agent("worker", async (ctx, inbox) => {
      await ctx.tool("mail", null);
      const task = await inbox.next();
      if (task) await ctx.reply(task, await say(ctx, task.text));
      return null;
    });
    const lead = agent("lead", async (ctx) => {
      const { text } = await ctx.askOrThrow(worker, "dig", { timeoutS: 3_600 });
      return `${text}, ${await say(ctx, "lead")}`;
    });
    const root = agent("root", async (ctx) => {
      const { output } = await ctx.join(await ctx.spawn(lead, "lead"));
      return [output, await say(ctx, "root")];
    });
    return [root, lead, worker];
  },
  drive: started,
};

const approval: Scenario = {
  name: "approval by signal",
  agents: (witness) => {
    const agent = staff(witness, "approval-by-signal");
    return [
      agent("asker", async (ctx) => {
        const draft = await say(ctx, "draft");
        const decision = await ctx.waitFor("approve");
        await ctx.tool("mail", draft);
        return [draft, decision];
      }),
    ];
  },
  async drive(client) {
    const run = await client.start();
    await client.waitUntil(async () => (await run.status()) === "waiting");
    await client.surely(() => run.signal("approve", "yes", { id: "decision" }));
    return run;
  },
};

const timer: Scenario = {
  name: "timer",
  agents: (witness) => {
    const agent = staff(witness, "timer");
    return [
      agent("sleeper", async (ctx) => {
        const before = await ctx.now();
        const first = await say(ctx, "evening");
        await ctx.sleepUntil(before + 200);
        const isLater = (await ctx.now()) >= before + 200;
        await ctx.tool("pay", null);
        const late = await ctx.waitFor("nothing", { timeoutS: 0.05 });
        return [first, isLater, late, await say(ctx, "morning")];
      }),
    ];
  },
  drive: started,
};

const continued: Scenario = {
  name: "continueAs",
  agents: (witness) => {
    const agent = staff(witness, "continueas");
    return [
      agent("marathon", async (ctx) => {
        const rounds = typeof ctx.state === "number" ? ctx.state : 0;
        const text = await say(ctx, `round ${rounds}`);
        await ctx.tool("pay", rounds);
        return rounds < 2 ? ctx.continueAs(rounds + 1) : text;
      }),
    ];
  },
  drive: started,
};

/** Every shape of a tree that is walked. */
export const scenarios: readonly Scenario[] = [
  single,
  fanOut,
  threeLevels,
  approval,
  timer,
  continued,
  preemption,
  yielding,
  talking,
  handled,
  cancelled,
];
