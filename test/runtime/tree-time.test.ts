import { AgentId, ChatMessage, MessageId, type Agent, type NumberedEvent } from "#kernel";
import { Runtime, type RunHandle } from "#runtime";
import { local } from "reeve/engines/local";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/engine-suite/harness.ts";
import { withProtocol } from "../../src/tree/protocol-number.ts";

const day = 86_400_000;

const lead: Agent = {
  id: AgentId.of("lead"),
  model: {
    id: "model",
    generate: async () => ({
      message: ChatMessage.assistant("ok"),
      usage: { input: 1, output: 1 },
      finishReason: "stop",
    }),
  },
  async run(ctx) {
    await ctx.waitFor("go");
    await ctx.llm([ChatMessage.user("go on")]);
    return "done";
  },
};

/** A tree with a deadline of an hour that waits, and the way to call it under any time. */
async function openTree(
  body: (tree: {
    readonly run: RunHandle;
    readonly clock: ReturnType<typeof manualClock>;
    readonly nudge: (at: number) => Promise<unknown>;
  }) => Promise<void>,
): Promise<void> {
  const clock = manualClock();
  const engine = local({ clock });
  await using runtime = new Runtime({ agents: [lead], engine, clock });
  const run = await runtime.start(lead, "go", { deadlineS: 3_600, id: "report" });
  await eventually("the run waits", async () => (await run.status()) === "waiting");
  let nudges = 0;
  const nudge = (at: number): Promise<unknown> => {
    const messageId = MessageId.of(`nudge-${++nudges}`);
    const steer = { run: run.runId, kind: "steer", text: "hurry", messageId, at };
    return engine.call({ type: "tree", key: "-/report" }, "injectMessage", withProtocol(steer));
  };
  await body({ run, clock, nudge });
}

const eventsOf = async (run: RunHandle): Promise<readonly NumberedEvent[]> => {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
};

test("4.3 a caller with a clock a day ahead or behind ends no deadline and stamps no event", async () => {
  await openTree(async ({ run, clock, nudge }) => {
    const now = clock.now();
    await nudge(now + day);
    await nudge(now - day);
    await run.signal("go");
    expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
    const times = (await eventsOf(run)).map(({ at }) => at);
    expect([Math.min(...times), Math.max(...times)]).toEqual([now, now]);
  });
});

test("4.3 the engine's time ends a deadline, whatever callers say", async () => {
  await openTree(async ({ run, clock, nudge }) => {
    await nudge(0);
    await clock.advance(3_600_001);
    expect(await run.result()).toMatchObject({ status: "cancelled", stopReason: "deadline" });
  });
});
