import { agent, AgentId, ChatMessage, createRuntime, fallback, ModelError, tool, type Agent } from "reeve";
import type { ChatMiddleware, Model } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { Meter, meteredModel } from "./metered-model.ts";

const look = tool({
  name: "look",
  description: "look",
  input: z.object({ n: z.number() }),
  risk: "safe",
  execute: async () => "x".repeat(10),
});

/** A change that the types of messages do not allow. */
const { splice } = Array.prototype;

const long = "y".repeat(40_000);

/** Calls a tool once, then answers. */
const lookOnce = (meter: Meter, maxOutputTokens?: number): Model =>
  meteredModel({
    meter,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    answer: (_request, n) =>
      n === 0 ? { calls: [["look", { n }]], output: 16 } : { text: "done", output: 16 },
  });

/** Runs an agent with one layer around its model calls under a cap, and returns the bill. */
async function billOf(
  model: Model,
  layer: ChatMiddleware,
  { meter, maxTokens, input }: { readonly meter: Meter; readonly maxTokens: number; readonly input: string },
): Promise<number> {
  const lead = agent({ name: "lead", model, tools: [look], middleware: { chat: [layer] } });
  await using runtime = createRuntime({ agents: [lead], maxRestarts: 0 });
  await (await runtime.start(lead, input, { budget: { maxTokens } })).result();
  return meter.tokens;
}

test("an answer of middleware without usage does not measure the prompt", async () => {
  const meter = new Meter();
  let isFirst = true;
  const canned: ChatMiddleware = {
    async process(context, next) {
      if (!isFirst) return next();
      isFirst = false;
      context.result = {
        message: {
          role: "assistant",
          content: [{ type: "tool-call", callId: "c", name: "look", input: { n: 1 } }],
        },
        usage: { input: 0, output: 0 },
        finishReason: "tool-calls",
      };
    },
  };
  const model = meteredModel({ meter, answer: () => ({ text: "done", output: 16 }) });
  expect(await billOf(model, canned, { meter, maxTokens: 5_000, input: long })).toBeLessThanOrEqual(5_000);
});

test("an answer with usage replaced by a layer does not measure the prompt", async () => {
  const meter = new Meter();
  const cheap: ChatMiddleware = {
    async process(context, next) {
      await next();
      if (context.result) context.result = { ...context.result, usage: { input: 3, output: 1 } };
    },
  };
  const model = lookOnce(meter, 100);
  await billOf(model, cheap, { meter, maxTokens: 60_000, input: long });
  expect(meter.tokens).toBeLessThanOrEqual(60_000);
});

test("a layer cannot cut the messages in place: the measured prompt is sent", async () => {
  const meter = new Meter();
  let calls = 0;
  const trim: ChatMiddleware = {
    async process(context, next) {
      const { messages } = context;
      const kept = [...messages];
      if (calls++ === 0) Reflect.apply(splice, messages, [0, messages.length, ChatMessage.user("short")]);
      await next();
      Reflect.apply(splice, messages, [0, messages.length, ...kept]);
    },
  };
  expect(await billOf(lookOnce(meter), trim, { meter, maxTokens: 5_000, input: long })).toBeLessThanOrEqual(
    5_000,
  );
});

test("middleware cannot lengthen a message that was measured", async () => {
  const meter = new Meter();
  let calls = 0;
  const grow: ChatMiddleware = {
    async process(context, next) {
      const [first] = context.messages;
      const more = { type: "text", text: "z".repeat(40_000) };
      if (calls++ === 1) Reflect.apply(splice, first?.content, [0, 0, more]);
      await next();
    },
  };
  expect(await billOf(lookOnce(meter), grow, { meter, maxTokens: 8_000, input: "hi" })).toBeLessThanOrEqual(
    8_000,
  );
  expect(calls).toBe(2);
});

const rate = (factor: number) => (text: string) => Math.ceil(Buffer.byteLength(text) * factor);

/** Four children whose fallback counts a prompt as less than half of the model's own count. */
async function withFallback(meter: Meter, cap: number) {
  let here = 0;
  const arrivals = [1, 2, 3, 4].map(() => Promise.withResolvers<void>());
  const meet = tool({
    name: "meet",
    description: "meet",
    input: z.object({}),
    risk: "safe",
    execute: async () => {
      // The call before is settled by now: the tool has passed the gate.
      arrivals[here++]?.resolve();
      await arrivals[3]?.promise;
      return "x";
    },
  });
  const other = meteredModel({
    meter,
    id: "other",
    maxOutputTokens: 100,
    count: rate(0.25),
    answer: () => ({ calls: [["meet", {}]], output: 16 }),
  });
  const inner = meteredModel({
    meter,
    id: "primary",
    maxOutputTokens: 100,
    count: rate(0.7),
    answer: () => ({ text: "done", output: 16 }),
  });
  const failed = new Set<string>();
  const primary: Model = {
    ...inner,
    async generate(request, call) {
      const name = ChatMessage.text(request.messages[0] ?? ChatMessage.user("")).slice(0, 3);
      if (failed.has(name)) return inner.generate(request, call);
      failed.add(name);
      throw new ModelError({ kind: "overloaded", message: "529", unbilled: true });
    },
  };
  const writer = agent({
    name: "writer",
    model: primary,
    tools: [meet],
    middleware: { chat: [fallback([other])] },
  });
  const lead: Agent = {
    id: AgentId.of("lead"),
    async run(ctx) {
      const children = [];
      for (const [index, arrival] of arrivals.entries()) {
        children.push(await ctx.spawn(writer, `${index}${"ж".repeat(20_000)}`));
        await ctx.step("arrival", () => arrival.promise);
      }
      for (const child of children) await ctx.join(child);
      return "done";
    },
  };
  await using runtime = createRuntime({ agents: [lead, writer] });
  await (await runtime.start(lead, "go", { budget: { maxTokens: cap } })).result();
}

test("a prompt that a fallback has counted is not measured by that count for the model itself", async () => {
  const meter = new Meter();
  await withFallback(meter, 100_000);
  expect(meter.calls.filter(({ model }) => model === "other").length).toBeGreaterThanOrEqual(4);
  expect(meter.calls.map(({ model }) => model)).toContain("primary");
  expect(meter.tokens).toBeLessThanOrEqual(100_000);
});

test("a fallback's count does not measure the model's next prompt in a separate run", async () => {
  const meter = new Meter();
  const answers = { meter, maxOutputTokens: 100 };
  const other = meteredModel({
    ...answers,
    id: "other",
    count: rate(0.25),
    answer: (_request, n) => ({ calls: [["look", { n }]], output: 16 }),
  });
  const inner = meteredModel({ ...answers, id: "primary", answer: () => ({ text: "done", output: 16 }) });
  let calls = 0;
  const primary: Model = {
    ...inner,
    async generate(request, call) {
      if (calls++ > 0) return inner.generate(request, call);
      throw new ModelError({ kind: "overloaded", message: "529", unbilled: true });
    },
  };
  const middleware = { chat: [fallback([other])] };
  const lead = agent({ name: "lead", model: primary, tools: [look], middleware, retry: { maxRetries: 0 } });
  await using runtime = createRuntime({ agents: [lead] });
  await (await runtime.start(lead, "ж".repeat(20_000), { budget: { maxTokens: 48_000 } })).result();
  expect(meter.calls.map(({ model }) => model)).toContain("other");
  expect(meter.tokens).toBeLessThanOrEqual(48_000);
});

test("a call in flight neither sends nor counts messages added to it", async () => {
  const meter = new Meter();
  const model = meteredModel({ meter, answer: () => ({ text: "ok", output: 5 }) });
  const lead: Agent = {
    id: AgentId.of("lead"),
    model,
    async run(ctx) {
      const messages = [ChatMessage.user("hello")];
      const asked = ctx.llm(messages, { maxOutputTokens: 50 });
      messages.push(ChatMessage.user(long));
      await asked;
      await ctx.llm(messages, { maxOutputTokens: 50 });
      return "done";
    },
  };
  await using runtime = createRuntime({ agents: [lead], maxRestarts: 0 });
  await (await runtime.start(lead, "go", { budget: { maxTokens: 5_000 } })).result();
  expect(meter.calls.map(({ input }) => input)).toEqual(["hello".length]);
});

test("agent code cannot set the size of its prompt", async () => {
  const meter = new Meter();
  const model = meteredModel({ meter, count: () => 5_000, answer: () => ({ text: "ok", output: 50 }) });
  const lead: Agent = {
    id: AgentId.of("lead"),
    model,
    async run(ctx) {
      const claim = { maxOutputTokens: 50, reported: { messages: 1, usage: { input: 0, output: 0 } } };
      await ctx.llm([ChatMessage.user("x".repeat(5_000))], claim);
      return "done";
    },
  };
  await using runtime = createRuntime({ agents: [lead], maxRestarts: 0 });
  await (await runtime.start(lead, "go", { budget: { maxTokens: 2_000 } })).result();
  expect(meter.tokens).toBeLessThanOrEqual(2_000);
});

/** Ceilings of a run that goes on in a fresh execution after every step. */
async function reservedBy(continueAfter: number, text = long): Promise<readonly number[]> {
  const meter = new Meter();
  const model = meteredModel({
    meter,
    maxOutputTokens: 100,
    count: (prompt) => Math.ceil(Buffer.byteLength(prompt) / 4),
    answer: (_request, n) =>
      n < 2 ? { calls: [["look", { n }]], output: 16 } : { text: "done", output: 16 },
  });
  const lead = agent({ name: "lead", model, tools: [look], continueAfter });
  await using t = testRuntime({ agents: [lead] });
  const run = await t.runtime.start(lead, text, { budget: { maxTokens: 300_000 } });
  await run.result();
  const reserved: number[] = [];
  for await (const event of run.events()) if (event.type === "budget.reserved") reserved.push(event.tokens);
  return reserved;
}

test("a size that a provider reported counts in the next execution of the run, too", async () => {
  const reserved = await reservedBy(1);
  expect(reserved).toEqual(await reservedBy(1_000));
  expect(reserved[0]).toBeGreaterThan(40_000);
  expect(reserved[1]).toBeLessThan(15_000);
});

test("with a system message of 4,000 tokens a conversation reserves at most 1.2 times the input that it uses, from its second turn on", async () => {
  const meter = new Meter();
  const model = meteredModel({
    meter,
    maxOutputTokens: 16,
    count: (text) => Math.ceil(text.length / 4),
    answer: ({ messages }) =>
      messages.at(-1)?.role === "user"
        ? { calls: [["look", { n: messages.length }]], output: 16 }
        : { text: "a rather long answer, ".repeat(20), output: 16 },
  });
  const writer = agent({ name: "writer", model, tools: [look], instructions: "Be brief. ".repeat(1_600) });
  await using runtime = createRuntime({ agents: [writer], store: memoryStore() });
  const talk = await runtime.sessions.create(writer, { user: "ada" });
  const shares: number[] = [];
  for (let turn = 1; turn <= 10; turn += 1) {
    const before = meter.calls.length;
    const run = await talk.start(`question ${turn}`);
    expect((await run.result()).status).toBe("completed");
    await talk.waitForIdle();
    const reserved: number[] = [];
    for await (const event of run.events())
      if (event.type === "budget.reserved") reserved.push(event.tokens - 16);
    const used = meter.calls.slice(before).map(({ input }) => input);
    expect(reserved.length).toBe(used.length);
    if (turn > 1) shares.push(...reserved.map((tokens, index) => tokens / (used[index] ?? 1)));
  }
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(1);
  expect(Math.max(...shares)).toBeLessThanOrEqual(1.2);
});
