import { agent, ChatMessage, retry, validate, type ChatMiddleware } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "../events-of.ts";
import { broken, look, price } from "./models.ts";

const schema = z.object({ year: z.number() });

test("an invalid answer is sent back once at the run's expense, and other layers see only the repaired answer", async () => {
  const model = scriptedModel([say("in 1987"), say('{"year":1987}')], { price });
  const outside: string[] = [];
  const watching: ChatMiddleware = {
    async process(context, next) {
      const { messages } = context;
      await next();
      expect(context.messages).toBe(messages);
      if (context.result) outside.push(ChatMessage.text(context.result.message));
    },
  };
  const worker = agent({ name: "worker", model, middleware: { chat: [watching, validate(schema)] } });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: '{"year":1987}', costMicros: 30 });
  expect(outside).toEqual(['{"year":1987}']);
  expect(eventsOf(await t.events(run), "budget.reserved")).toHaveLength(2);
  const [, answer, complaint] = model.requests[1]?.messages ?? [];
  expect(answer).toEqual(ChatMessage.assistant("in 1987"));
  expect(JSON.stringify(complaint)).toContain("it is not JSON");
});

test("if the last repair is invalid, the run fails with the errors, and the model is not asked again", async () => {
  const model = scriptedModel([say('{"year":"x"}')], { price });
  const worker = agent({ name: "worker", model, middleware: { chat: [validate(schema, { repairs: 2 })] } });
  await using t = testRuntime({ agents: [worker] });
  const result = await t.run(worker, "go");
  expect(result).toMatchObject({ status: "failed", error: { code: "model", kind: "format" } });
  expect(result.error?.message).toContain("year: ");
  expect(model.requests).toHaveLength(3);
});

test("an answer that calls tools is not validated", async () => {
  const model = scriptedModel([call("look", { question: "pump" }), say('{"year":1987}')], { price });
  const worker = agent({
    name: "worker",
    model,
    tools: [look([])],
    middleware: { chat: [validate(schema)] },
  });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ output: '{"year":1987}', costMicros: 30 });
});

test("5.7 repairs and retries add up, they do not multiply", async () => {
  const script = [say("no"), broken("overloaded"), say("no"), broken("overloaded")] as const;
  for (const chat of [
    [validate(schema, { repairs: 2 })],
    [validate(schema, { repairs: 2 }), retry({ maxRetries: 3, baseMs: 1 })],
  ]) {
    const model = scriptedModel(script, { price });
    const worker = agent({ name: "worker", model, retry: { baseMs: 1 }, middleware: { chat } });
    await using t = testRuntime({ agents: [worker] });
    expect(await t.run(worker, "go")).toMatchObject({ status: "failed", error: { kind: "overloaded" } });
    expect(model.requests).toHaveLength(6);
  }
});
