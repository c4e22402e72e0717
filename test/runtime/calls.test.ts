import {
  AgentId,
  ChatMessage,
  ModelError,
  type Agent,
  type Json,
  type NumberedEvent,
  type Permissions,
} from "#kernel";
import { tool } from "#agents";
import { local } from "#engines/local";
import { Runtime, type RunHandle } from "#runtime";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "../agents/events-of.ts";

const agentOf = (run: Agent["run"], rest: Omit<Agent, "id" | "run">): Agent => ({
  id: AgentId.of("worker"),
  run,
  ...rest,
});

async function eventsIn(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

const noted = z.object({ text: z.string() });

test("the events of a tool call carry one call id, even if the call was refused", async () => {
  const note = tool({
    name: "note",
    description: "",
    input: noted,
    risk: "safe",
    execute: async () => "noted",
  });
  const worker = agentOf(
    async (ctx, inbox) => {
      const isCopy = (await inbox.next())?.text === "copy";
      await ctx.tool("note", { text: "x" });
      await ctx.tool("note", { text: "x" }, { callId: "named" });
      if (!isCopy) await ctx.join(await ctx.spawnChild("copy", { tools: [] }));
    },
    { tools: [note] },
  );
  await using runtime = new Runtime({ agents: [worker], engine: local() });
  const events = await eventsIn(await runtime.start(worker, "go"));
  const [first, second] = eventsOf(events, "tool.start");
  expect(first?.callId).toBe(first?.attempt);
  expect(second?.callId).toBe("named");
  expect(eventsOf(events, "tool.end").map(({ callId }) => callId)).toEqual([first?.callId, "named"]);
  expect(eventsOf(events, "permission.denied").map(({ callId }) => callId)).toEqual(["note", "named"]);
});

test("an approved input is the one that was checked: a schema that changes it does so once", async () => {
  const seen: Json[] = [];
  const send = tool({
    name: "send",
    description: "",
    input: z.object({ text: z.string().transform((text) => `${text}!`) }),
    risk: "high",
    execute: async (input) => {
      seen.push(input);
      return "sent";
    },
  });
  const worker = agentOf(async (ctx) => void (await ctx.tool("send", { text: "hello" })), { tools: [send] });
  const permissions: Permissions = { decide: () => "ask" };
  await using runtime = new Runtime({
    agents: [worker],
    engine: local(),
    permissions,
    approver: async () => ({ decision: "approved" }),
  });
  await (await runtime.start(worker, "go")).result();
  expect(seen).toEqual([{ text: "hello!" }]);
});

test("options for the provider reach the model through chat middleware", async () => {
  const model = scriptedModel([say("done")]);
  const frozen: boolean[] = [];
  const tools = [{ name: "note", description: "", inputSchema: {} }];
  const worker = agentOf(
    async (ctx) => void (await ctx.llm([ChatMessage.user("hello")], { providerOptions: { seed: 7 }, tools })),
    {
      model,
      policy: {
        chat: [
          {
            process: async (context, next) => {
              await next();
              frozen.push(Object.isFrozen(context.result?.usage));
            },
          },
        ],
      },
    },
  );
  await using runtime = new Runtime({ agents: [worker], engine: local() });
  await (await runtime.start(worker, "go")).result();
  expect(model.requests).toMatchObject([{ options: { seed: 7 }, tools }]);
  expect(frozen).toEqual([true]);
});

test("model calls inside a tool call are attempts of their own, retried like any other", async () => {
  let calls = 0;
  const model = scriptedModel([say("fine")]);
  const flaky = {
    ...model,
    generate: async (...given: Parameters<typeof model.generate>) => {
      if (++calls === 1) throw new ModelError({ kind: "overloaded", message: "not now", unbilled: true });
      return model.generate(...given);
    },
  };
  const note = tool({
    name: "note",
    description: "",
    input: noted,
    risk: "safe",
    execute: async () => "noted",
  });
  const worker = agentOf(async (ctx) => void (await ctx.tool("note", { text: "x" })), {
    model: flaky,
    tools: [note],
    policy: {
      retry: { baseMs: 1 },
      function: [
        {
          process: async ({ scope }, next) => {
            await scope.llm([ChatMessage.user("well?")]);
            await scope.llm([ChatMessage.user("really?")]);
            await next();
          },
        },
      ],
    },
  });
  await using runtime = new Runtime({ agents: [worker], engine: local() });
  const run = await runtime.start(worker, "go");
  const events = await eventsIn(run);
  expect(await run.result()).toMatchObject({ status: "completed" });
  const attempts = [...eventsOf(events, "model.start"), ...eventsOf(events, "tool.start")].map(
    ({ attempt }) => attempt,
  );
  expect(attempts).toHaveLength(4);
  expect(new Set(attempts).size).toBe(4);
  const steps = eventsOf(events, "model.start").map(({ step }) => step);
  expect(new Set(steps).size).toBe(2);
});

test.each([
  [4_000_000 - 2, false],
  [4_000_001, true],
])("a tool result of %d characters is refused: %s", async (length, isRefused) => {
  const execute = async (): Promise<string> => "x".repeat(length);
  const read = tool({ name: "read", description: "", input: z.object({}), risk: "safe", execute });
  const worker = agentOf(async (ctx) => (await ctx.tool("read", {})).isError ?? false, { tools: [read] });
  await using runtime = new Runtime({ agents: [worker], engine: local() });
  expect((await (await runtime.start(worker, "go")).result()).output).toBe(isRefused);
});
