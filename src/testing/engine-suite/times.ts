import assert from "node:assert/strict";
import { encodeError, Json, type Inbox, type RunContext } from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";

/** Values that types allow through a cast or arithmetic, and that are no moment and no duration. */
const values: Readonly<Record<string, unknown>> = {
  NaN: Number.NaN,
  Infinity: Infinity,
  "-Infinity": -Infinity,
  "1e300": 1e300,
  "an invalid date": new Date(Number.NaN),
  "a text": "soon",
};

/** Every call of agent code that takes a moment or a duration. */
function calls(
  ctx: RunContext,
  inbox: Inbox,
  time: number,
): Readonly<Record<string, () => Promise<unknown>>> {
  const self = { id: ctx.supervision.agentId };
  return {
    sleepUntil: () => ctx.sleepUntil(time),
    ...durationCalls(ctx, inbox, time),
    spawn: () => ctx.spawn(self, "again", { budget: { deadlineS: time } }),
  };
}

function durationCalls(
  ctx: RunContext,
  inbox: Inbox,
  seconds: number,
): Readonly<Record<string, () => Promise<unknown>>> {
  const self = { id: ctx.supervision.agentId };
  return {
    waitFor: () => ctx.waitFor("never", { timeoutS: seconds }),
    "inbox.next": () => inbox.next({ waitS: seconds }),
    ask: () => ctx.ask(self, "again", { timeoutS: seconds }),
    askOrThrow: () => ctx.askOrThrow(self, "again", { timeoutS: seconds }),
    step: () => ctx.step("made", () => "made", { retry: { baseMs: seconds } }),
  };
}

/** Returns the calls that were not refused, and those refused without the reason. */
async function findNotRefused(
  made: Readonly<Record<string, () => Promise<unknown>>>,
  value: string,
): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [name, call] of Object.entries(made)) {
    try {
      await call();
      wrong.push(`${name} takes ${value}`);
    } catch (error) {
      if (!(error instanceof RangeError) || !/^\w+ must be a .*, got .+$/.test(error.message))
        wrong.push(`${name} refuses ${value} with ${encodeError(error).message}`);
    }
  }
  return wrong;
}

/** A call that is not refused would wait for ever. Longer than the calls take on a busy machine. */
const deadlineS = 40;

/** Moments and durations that would never come, or make no sense. */
export const timeCases: readonly EngineCase[] = [
  {
    name: "4.3 a time or duration out of range is refused at the call",
    async run(harness) {
      const lead = agentOf("lead", async (ctx, inbox) => {
        await inbox.next();
        const wrong: string[] = [];
        for (const [name, value] of Object.entries(values))
          wrong.push(...(await findNotRefused(calls(ctx, inbox, Json.as<number>(Json.of(value))), name)));
        return [...wrong, await ctx.step("after", () => "fine")];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go", { deadlineS })).result();
        assert.deepEqual(output, ["fine"]);
      });
    },
  },
  {
    name: "4.3 a negative duration is refused at the call; a time in the past is accepted",
    async run(harness) {
      const lead = agentOf("lead", async (ctx, inbox) => {
        await inbox.next();
        await ctx.sleepUntil(-1);
        return [...(await findNotRefused(durationCalls(ctx, inbox, -1), "-1"))];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, []);
      });
    },
  },
  {
    name: "4.3 a run that does not catch the refusal of a time fails with that error",
    async run(harness) {
      const lead = agentOf("lead", async (ctx) => ctx.sleepUntil(Number.NaN).then(() => "awake"));
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { status, error } = await (await runtime.start(lead, "go", { deadlineS })).result();
        assert.deepEqual(
          [status, error?.message],
          ["failed", "sleepUntil must be a time in milliseconds since 1970, got NaN"],
        );
      });
    },
  },
];
