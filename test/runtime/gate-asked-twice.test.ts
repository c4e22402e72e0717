import { agent, AgentId, createRuntime, tool, type Agent, type NumberedEvent } from "reeve";
import { local } from "reeve/engines/local";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  delegateEngine,
  delegatePrimitives,
  type Engine,
  type ExecutionPrimitives,
  type StepIo,
} from "#kernel";

/** The first answer of each call is lost, and the call is repeated. */
const repeatCall = (io: StepIo): StepIo => ({
  ...io,
  call: async (...given) => {
    await io.call(...given);
    return io.call(...given);
  },
});

const loseFirstAnswers = (inner: ExecutionPrimitives): ExecutionPrimitives =>
  delegatePrimitives(inner, { step: (name, run) => inner.step(name, (io) => run(repeatCall(io))) });

/** An engine whose steps lose the first answer of each call. */
function engineLosingAnswers(): Engine {
  const engine = local();
  return delegateEngine(engine, {
    define: (program) =>
      engine.define({ ...program, run: (primitives) => program.run(loseFirstAnswers(primitives)) }),
  });
}

async function eventsOf(lead: Agent, budget = {}): Promise<readonly NumberedEvent[]> {
  await using runtime = createRuntime({ agents: [lead], engine: engineLosingAnswers() });
  const run = await runtime.start(lead, "go", { budget });
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

const ids = (events: readonly NumberedEvent[]): readonly string[] => events.map(({ eventId }) => eventId);

test("a gate asked twice by one attempt grants and reports once", async () => {
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    risk: "safe",
    execute: async () => "seen",
  });
  const model = scriptedModel([call("look", {}), say("done")]);
  const events = await eventsOf(agent({ name: "lead", model, tools: [look] }));
  const count = (type: NumberedEvent["type"]): number => events.filter((event) => event.type === type).length;
  expect([count("budget.reserved"), count("model.start"), count("tool.start")]).toEqual([2, 2, 1]);
  expect(new Set(ids(events)).size).toBe(events.length);
});

test("a gate asked twice by one attempt denies and reports once", async () => {
  const lead: Agent = {
    id: AgentId.of("lead"),
    model: scriptedModel([say("never")]),
    run: async (ctx) => {
      for (let tries = 0; tries < 100; tries++) await ctx.llm([]).catch(() => null);
    },
  };
  const events = await eventsOf(lead, { maxTokens: 1 });
  expect(events.filter(({ type }) => type === "budget.denied")).toHaveLength(100);
  expect(new Set(ids(events)).size).toBe(events.length);
});
