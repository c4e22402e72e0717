import {
  agent,
  BudgetExhaustedError,
  CancellationError,
  ChatMessage,
  fallback,
  MiddlewareTermination,
  retry,
  RetryableError,
  timeout,
  type ChatMiddleware,
  type RunResult,
} from "reeve";
import {
  call,
  manualModel,
  manualClock,
  say,
  scriptedModel,
  testRuntime,
  type ScriptedModel,
} from "reeve/testing";
import { expect, test } from "vitest";
import { eventsOf } from "../events-of.ts";
import { passTimeUntil, waitUntil } from "../passing-time.ts";
import { broken, look, price } from "./models.ts";

const modelFailingWith = (kind: Parameters<typeof broken>[0], id = "scripted"): ScriptedModel =>
  scriptedModel([broken(kind)], { id, price });

async function runOf(model: ScriptedModel, chat: readonly ChatMiddleware[]): Promise<RunResult> {
  const clock = manualClock();
  const worker = agent({ name: "worker", model, middleware: { chat } });
  await using t = testRuntime({ agents: [worker], clock });
  return await passTimeUntil(clock, t.run(worker, "go"));
}

test("8.3 retry() replaces the built-in retry and never adds to it", async () => {
  for (const maxRetries of [0, 1, 5]) {
    const model = modelFailingWith("overloaded");
    expect(await runOf(model, [retry({ maxRetries })])).toMatchObject({
      status: "failed",
      error: { kind: "overloaded" },
    });
    expect(model.requests).toHaveLength(1 + maxRetries);
  }
});

test("8.3 retries of retry() are in the stream and on schedule, and long delays are waited for outside the step", async () => {
  const model = scriptedModel([broken("overloaded"), broken("rate-limit", 20_000), say("done")], { price });
  const clock = manualClock();
  const worker = agent({ name: "worker", model, middleware: { chat: [retry({ baseMs: 1_000 })] } });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  expect(await passTimeUntil(clock, run.result())).toMatchObject({
    status: "completed",
    output: "done",
    costMicros: 15,
  });
  const events = await t.events(run);
  const [first, second] = eventsOf(events, "retry.start");
  expect([first?.retry, second?.retry, second?.delayMs]).toEqual([1, 2, 20_000]);
  expect(first?.delayMs).toBeGreaterThanOrEqual(800);
  expect(first?.delayMs).toBeLessThanOrEqual(1_200);
  expect(eventsOf(events, "retry.end").map((event) => [event.retry, event.success])).toEqual([
    [1, false],
    [2, true],
  ]);
});

test("7.1 termination, cancellation and budget errors are never retried, even if `when` allows it", async () => {
  const stopping: readonly (readonly [Error, calls: number])[] = [
    [new MiddlewareTermination({ reason: "enough" }), 1],
    [new CancellationError({ reason: "user" }), 1],
    // The second is another call: the landing's.
    [new BudgetExhaustedError({ dimension: "tokens", limit: 1, used: 1 }), 2],
  ];
  for (const [error, expected] of stopping) {
    let calls = 0;
    const stops: ChatMiddleware = {
      process: async () => {
        calls += 1;
        throw error;
      },
    };
    await runOf(scriptedModel([say("never")]), [retry({ when: () => true }), stops]);
    expect(calls).toBe(expected);
  }
});

test("5.7 two nested retries share one count", async () => {
  const model = modelFailingWith("overloaded");
  await runOf(model, [retry({ maxRetries: 3 }), retry({ maxRetries: 2 })]);
  expect(model.requests).toHaveLength(4);
});

test("5.7 a judge inside a retried layer does not multiply the retries", async () => {
  const judge = modelFailingWith("overloaded", "judge");
  const judged: ChatMiddleware = {
    process: async ({ scope }) => void (await scope.llm([ChatMessage.user("well?")], { model: judge })),
  };
  await runOf(scriptedModel([say("never")]), [retry(), judged]);
  expect(judge.requests).toHaveLength(4);
});

test("fallback asks the next model at once, and each attempt is on the bill", async () => {
  const first = modelFailingWith("overloaded", "first");
  const second = scriptedModel([say("done")], { id: "second", price });
  const clock = manualClock();
  const worker = agent({ name: "worker", model: first, middleware: { chat: [fallback([second])] } });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: "done",
    costMicros: 15,
    inDoubtMicros: 0,
  });
  const events = await t.events(run);
  expect(eventsOf(events, "model.end").map(({ model }) => model)).toEqual(["first", "second"]);
  expect(eventsOf(events, "budget.settled").map(({ costMicros: cost }) => cost)).toEqual([0, 15]);
  expect(eventsOf(events, "retry.start")).toEqual([]);
});

test("fallback asks no other model if the request itself is invalid", async () => {
  const second = scriptedModel([say("never")], { id: "second", price });
  const result = await runOf(modelFailingWith("format"), [fallback([second])]);
  expect(result).toMatchObject({ status: "failed", error: { kind: "format" } });
  expect(second.requests).toHaveLength(0);
});

const orders: readonly (readonly [
  string,
  (second: ScriptedModel) => readonly ChatMiddleware[],
  first: number,
  second: number,
])[] = [
  ["fallback alone", (second) => [fallback([second])], 1, 4],
  ["retry around fallback", (second) => [retry({ baseMs: 1 }), fallback([second])], 1, 4],
  ["fallback around retry", (second) => [fallback([second]), retry({ baseMs: 1 })], 4, 1],
  [
    "with a timeout",
    (second) => [timeout({ seconds: 9 }), fallback([second]), timeout({ seconds: 5 }), retry({ baseMs: 1 })],
    4,
    1,
  ],
];

test.each(orders)(
  "5.7 calls are models plus retries, never their product: %s",
  async (_, chat, first, second) => {
    const [one, other] = [modelFailingWith("overloaded", "one"), modelFailingWith("overloaded", "other")];
    const worker = agent({
      name: "worker",
      model: one,
      retry: { baseMs: 1 },
      middleware: { chat: chat(other) },
    });
    await using t = testRuntime({ agents: [worker] });
    expect(await t.run(worker, "go")).toMatchObject({ status: "failed", error: { kind: "overloaded" } });
    expect([one.requests.length, other.requests.length]).toEqual([first, second]);
  },
);

test("a slow attempt is aborted after its time, and made again", async () => {
  const clock = manualClock();
  const model = manualModel({ price });
  const worker = agent({ name: "worker", model, middleware: { chat: [timeout({ seconds: 7 })] } });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  await waitUntil(() => model.calls.length === 1);
  await clock.advance(6_999);
  expect(model.calls[0]?.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(model.calls[0]?.signal.aborted).toBe(true);
  await clock.advance(3_000);
  await waitUntil(() => model.calls.length === 2);
  model.calls[1]?.answer("done");
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  const [late] = eventsOf(await t.events(run), "model.end");
  expect(late?.error).toMatchObject({ kind: "timeout", message: "no answer from the model after 7 s" });
});

test("a slow tool is abandoned at its timeout, and the model gets the error", async () => {
  const clock = manualClock();
  const seen: string[] = [];
  const model = scriptedModel([call("look", { question: "pump" }), say("done")]);
  const tools = [look(seen, () => new Promise(() => undefined))];
  const worker = agent({ name: "worker", model, tools, middleware: { function: [timeout({ seconds: 5 })] } });
  await using t = testRuntime({ agents: [worker], clock });
  const result = t.run(worker, "go");
  await waitUntil(() => seen.length === 1);
  await clock.advance(5_000);
  expect(await result).toMatchObject({ status: "completed", output: "done" });
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("no result after 5 s");
});

test.each([
  ["safe", false, 3],
  ["high", false, 1],
  ["high", true, 3],
] as const)(
  "a failed tool of risk %s (idempotent: %s) is tried %i times",
  async (risk, idempotent, times) => {
    const seen: string[] = [];
    const act = async (): Promise<string> => {
      if (seen.length < 3) throw new RetryableError({ message: "not now" });
      return "found it";
    };
    const model = scriptedModel([call("look", { question: "pump" }), say("done")]);
    const tools = [look(seen, act, { risk, idempotent })];
    const middleware = { function: [retry({ baseMs: 1 })] };
    const worker = agent({ name: "worker", model, tools, permissions: "allow-all", middleware });
    await using t = testRuntime({ agents: [worker] });
    expect(await t.run(worker, "go")).toMatchObject({ status: "completed" });
    expect(seen).toHaveLength(times);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(
      times === 3 ? "found it" : "not now",
    );
  },
);

test("8.3 an aborted call is not retried", async () => {
  const model = manualModel({ price });
  const worker = agent({
    name: "worker",
    model,
    middleware: { chat: [retry({ baseMs: 1, when: () => true })] },
  });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  await waitUntil(() => model.calls.length === 1);
  await run.cancel("user");
  expect(await run.result()).toMatchObject({ status: "cancelled" });
  expect(model.calls).toHaveLength(1);
});
