import { ChatMessage, Json, NotFoundError, type Agent, type ChildHandle, type RunContext } from "reeve";
import { deliver } from "./tools.ts";

/** Agent code of one's own: it is given its task. */
export type OwnAgent = (ctx: RunContext, task: string) => ReturnType<Agent["run"]>;

/** Custom agents of all common shapes, by name. */
export const ownAgents = (sink: string): Readonly<Record<string, OwnAgent>> => ({
  parallel: parallel(sink),
  approval,
  sleeper,
  continuing,
  patient,
  urgent: (ctx, task) => order(ctx, "mail", `${task}.urgent`),
  idle,
});

const parallel =
  (sink: string): OwnAgent =>
  async (ctx, task) => {
    const flow = async (part: number): Promise<string> => {
      const said = await say(ctx, `${task} part ${part}`);
      await order(ctx, "note", `${task}.${part}`);
      return said;
    };
    const effect = ctx.step("effect", ({ signal, idempotencyKey: key }) =>
      deliver(sink, { tool: "step", order: `${task}.step`, key }, signal),
    );
    return [...(await Promise.all([flow(1), flow(2), flow(3)])), await effect, ctx.random()];
  };

const approval: OwnAgent = async (ctx, task) => {
  await order(ctx, "mail", `${task}.before`);
  const first = await ctx.waitFor("first");
  const second = await ctx.waitFor("second");
  return [first, second, await say(ctx, task), await order(ctx, "stamp", `${task}.after`)];
};

const sleeper: OwnAgent = async (ctx, task) => {
  await say(ctx, `${task} before`);
  await ctx.sleepUntil((await ctx.now()) + 400);
  return [await order(ctx, "pay", `${task}.awake`), await say(ctx, `${task} after`)];
};

const continuing: OwnAgent = async (ctx, task) => {
  const fresh = { round: 0, about: task };
  const { round, about } = Json.as<typeof fresh>(ctx.state ?? fresh);
  if (round === 3) return say(ctx, about);
  await say(ctx, `${about} round ${round}`);
  await order(ctx, "stamp", `${about}.${round}`);
  return ctx.continueAs({ round: round + 1, about });
};

const patient: OwnAgent = async (ctx, task) => {
  for (let round = 0; round < 3; round++) await say(ctx, `${task} round ${round}`);
  return order(ctx, "note", `${task}.patient`);
};

/** Variable that makes a worker use changed code of `idle`. */
export const changedCode = "REEVE_CHAOS_CHANGED";

/** Waits. Code that has changed since asks for a step that the journal does not hold. */
const idle: OwnAgent = async (ctx) => {
  await ctx.step(process.env[changedCode] === undefined ? "one" : "other", () => null);
  return ctx.waitFor("go");
};

/** Waits for a child that waits. */
export const joiner =
  ({ idle: child }: Readonly<Record<string, Agent>>): OwnAgent =>
  async (ctx, task) => {
    if (!child) throw new NotFoundError({ what: "agent", id: "idle" });
    return (await ctx.join(await ctx.spawn(child, task))).status;
  };

/** Fills all slots with low-priority children, then spawns an urgent one, so that one child must yield. */
export const preempter =
  ({ patient: writer, urgent }: Readonly<Record<string, Agent>>): OwnAgent =>
  async (ctx, task) => {
    if (!writer || !urgent) throw new NotFoundError({ what: "agent", id: "patient or urgent" });
    const writers: ChildHandle[] = [];
    for (let n = 1; n < ctx.supervision.spawnBudget.maxAgents; n++)
      writers.push(await ctx.spawn(writer, `${task}.${n}`, { priority: "low" }));
    await say(ctx, task);
    const taker = await ctx.spawn(urgent, task, { priority: "critical", onFull: "wait" });
    const ends = await Promise.all([taker, ...writers].map((handle) => ctx.join(handle)));
    return ends.map(({ status }) => status);
  };

async function say(ctx: RunContext, text: string): Promise<string> {
  return ChatMessage.text((await ctx.llm([ChatMessage.user(text)], { maxOutputTokens: 200 })).message);
}

async function order(ctx: RunContext, tool: string, name: string): Promise<Json> {
  const { isError, value } = await ctx.tool(tool, { order: name });
  return isError ? "unknown" : (value ?? null);
}
