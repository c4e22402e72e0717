import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { agent, languageModel, tool, type Model } from "reeve";
import {
  answers,
  manualClock,
  testRuntime,
  type ProviderAnswer,
  type Fault,
  type FaultKind,
  type FakeProvider,
} from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDouble } from "../testing/real-providers.ts";
import { eventsOf as of } from "./events-of.ts";
import { passTimeUntil, waitUntil } from "./passing-time.ts";

const wires = ["chat", "anthropic"] as const;
type WireName = (typeof wires)[number];
const price = { input: 3_000_000, output: 15_000_000 };
const retry = { baseMs: 1 };

function model(name: WireName, { baseURL }: FakeProvider, fetch?: typeof globalThis.fetch): Model {
  const settings = { baseURL, apiKey: "secret", ...(fetch && { fetch }) };
  const given =
    name === "chat" ? createOpenAI(settings).chat("double-1") : createAnthropic(settings)("double-1");
  return languageModel(given, { price, maxOutputTokens: 400 });
}

const faults: readonly (readonly [
  Fault | FaultKind,
  kind: string,
  isRetried: boolean,
  isUnbilled: boolean,
])[] = [
  ["rate-limit", "rate-limit", true, true],
  ["overloaded", "overloaded", true, true],
  ["server-error", "server-error", true, true],
  ["cut", "server-error", true, false],
  ["executed-then-reset", "server-error", true, false],
  ["malformed-body", "server-error", true, false],
  ["context-overflow", "context-overflow", false, true],
  ["unauthorized", "auth", false, true],
  ["forbidden", "auth", false, true],
  ["revoked", "auth-permanent", false, true],
  ["disabled", "auth-permanent", false, true],
  ["quota", "billing", false, true],
  ["credit-exhausted", "billing", false, true],
  ["payment-required", "billing", false, true],
  ["not-found", "model-not-found", false, true],
  ["content-blocked", "content-blocked", false, false],
];

const cases = wires.flatMap((name) =>
  faults.map(([fault, kind, isRetried, isUnbilled]) => ({
    name,
    fault,
    kind,
    attempts: isRetried ? 4 : 1,
    isUnbilled,
  })),
);

test.each(cases)(
  "8.3 $name: $fault is a $kind error, tried $attempts times, each in the ledger",
  async ({ name, fault, kind, attempts, isUnbilled }) => {
    const double = await openDouble({ script: answers([{ text: "Never heard.", fault }]) });
    const worker = agent({ name: "worker", model: model(name, double), retry });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "Where is the pump?");
    const result = await run.result();
    expect(result).toMatchObject({ status: "failed", stopReason: "error", output: null });
    expect(result.error).toMatchObject({ code: "model", kind });
    expect(double.bill.entries).toHaveLength(attempts);
    const events = await t.events(run);
    expect(of(events, "model.start")).toHaveLength(attempts);
    expect(of(events, "retry.start").map((event) => event.retry)).toEqual(numbers(attempts - 1));
    expect(of(events, "retry.end").map((event) => [event.retry, event.success])).toEqual(
      numbers(attempts - 1).map((n) => [n, false]),
    );
    const settled = of(events, "budget.settled");
    expect(settled.map(({ inDoubt }) => inDoubt)).toEqual(
      Array.from({ length: attempts }, () => !isUnbilled),
    );
    const spent = settled.reduce((sum, { costMicros: cost }) => sum + cost, 0);
    expect(result).toMatchObject({ costMicros: spent, inDoubtMicros: spent });
    expect(spent === 0).toBe(isUnbilled);
  },
);

const broken: typeof fetch = (url, init) => fetch(url, { ...init, body: "{}" });

test.each(wires)("8.3 %s: an unknown error is retried", async (name) => {
  const double = await openDouble();
  let calls = 0;
  const odd = async (): Promise<Response> => {
    calls += 1;
    throw new Error("something odd");
  };
  const worker = agent({ name: "worker", model: model(name, double, odd), retry });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "go")).error).toMatchObject({ code: "model", kind: "unknown" });
  expect(calls).toBe(4);
});

test.each(wires)(
  "8.3 %s: a request the provider cannot read is a format error and is not repeated",
  async (name) => {
    const double = await openDouble();
    const worker = agent({ name: "worker", model: model(name, double, broken), retry });
    await using t = testRuntime({ agents: [worker] });
    expect((await t.run(worker, "go")).error).toMatchObject({ code: "model", kind: "format" });
    expect(double.bill.entries).toMatchObject([{ outcome: "invalid-request" }]);
  },
);

test.each(wires)("8.3 %s: a call without an answer times out and is retried", async (name) => {
  const clock = manualClock();
  const double = await openDouble({ script: answers([{ text: "late", fault: "hang" }, "Here."]) });
  const worker = agent({ name: "worker", model: model(name, double), retry });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  await double.inFlight.reaches(1);
  await clock.advance(600_000);
  expect(await passTimeUntil(clock, run.result())).toMatchObject({ status: "completed", output: "Here." });
  expect(of(await t.events(run), "retry.start")).toMatchObject([
    { error: { code: "model", kind: "timeout" } },
  ]);
});

test("8.3 the delay before retry n is base * 2^(n-1), 20 % more or less", async () => {
  const factors: number[] = [];
  for (let round = 0; round < 5; round++) {
    const clock = manualClock();
    const double = await openDouble({ script: answers([{ fault: "overloaded" }]) });
    const worker = agent({ name: "worker", model: model("chat", double) });
    await using t = testRuntime({ agents: [worker], clock });
    const run = await t.start(worker, "go");
    await passTimeUntil(clock, run.result());
    const delays = of(await t.events(run), "retry.start").map(({ delayMs }) => delayMs);
    expect(delays).toHaveLength(3);
    factors.push(...delays.map((delay, index) => delay / (2_000 * 2 ** index)));
  }
  for (const factor of factors) {
    expect(factor).toBeGreaterThanOrEqual(0.8);
    expect(factor).toBeLessThanOrEqual(1.2);
  }
  expect(new Set(factors).size).toBeGreaterThan(5);
});

test.each([
  [7, 7_000],
  [45, 45_000],
  [3_600, 60_000],
])(
  "8.3 Retry-After of %i s is honoured up to a minute: %i ms, durably between attempts",
  async (seconds, waited) => {
    const clock = manualClock();
    const script = answers([{ fault: { kind: "rate-limit", retryAfterSeconds: seconds } }, "Here."]);
    const double = await openDouble({ script, now: () => clock.now() });
    const worker = agent({ name: "worker", model: model("anthropic", double), retry });
    await using t = testRuntime({ agents: [worker], clock });
    const run = await t.start(worker, "go");
    const running = waitUntil(() => double.bill.entries.length === 1);
    await running;
    await untilStatus(run, "waiting");
    await clock.advance(waited - 1);
    expect(double.bill.entries).toHaveLength(1);
    expect(await passTimeUntil(clock, run.result())).toMatchObject({ status: "completed", output: "Here." });
    const events = await t.events(run);
    expect(of(events, "retry.start")).toMatchObject([{ retry: 1, delayMs: waited }]);
    expect(of(events, "retry.end")).toMatchObject([{ retry: 1, success: true }]);
  },
);

test("8.3 there are three retries in all, numbered in order, whether they wait durably or inside the step", async () => {
  const clock = manualClock();
  const fault = { kind: "rate-limit", retryAfterSeconds: 20 } as const;
  const script = answers([{ fault }, { fault: "overloaded" }, { fault }, { fault }]);
  const double = await openDouble({ script });
  const worker = agent({ name: "worker", model: model("chat", double), retry });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  expect(await passTimeUntil(clock, run.result())).toMatchObject({
    status: "failed",
    error: { kind: "rate-limit" },
  });
  const events = await t.events(run);
  expect(double.bill.entries).toHaveLength(4);
  expect(of(events, "retry.start").map((event) => event.retry)).toEqual([1, 2, 3]);
  expect(of(events, "retry.end").map((event) => event.retry)).toEqual([1, 2, 3]);
});

test.each(wires)(
  "8.3 %s: partial output of a cut stream is kept nowhere, and its cost is in the ledger",
  async (name) => {
    const gate = Promise.withResolvers<void>();
    const wait = tool({
      name: "wait",
      description: "Waits",
      input: z.object({}),
      risk: "safe",
      execute: async () => gate.promise.then(() => "ok"),
    });
    const cut: ProviderAnswer = { text: "half of ".repeat(60), fault: { kind: "cut", afterBytes: 2_500 } };
    const script = answers([{ toolCalls: [{ name: "wait", input: {} }] }, cut, "Whole."]);
    const double = await openDouble({ script });
    const worker = agent({ name: "worker", model: model(name, double), tools: [wait], retry });
    await using t = testRuntime({ agents: [worker] });
    const run = await t.start(worker, "go");
    let heard = "";
    const listening = (async () => {
      for await (const { text } of run.deltas()) heard += text;
    })();
    await waitUntil(() => double.bill.entries.length === 1);
    gate.resolve();
    const result = await run.result();
    await listening;
    expect(heard).toContain("half of");
    expect(result).toMatchObject({ status: "completed", output: "Whole." });
    expect(double.bill.entries.map(({ streamed, outcome }) => [streamed, outcome])).toEqual([
      [expect.any(Boolean), "answered"],
      [true, "cut"],
      [true, "answered"],
    ]);
    const settled = of(await t.events(run), "budget.settled");
    expect(settled.map(({ inDoubt }) => inDoubt)).toEqual([false, true, false]);
    const sure = settled
      .filter(({ inDoubt }) => !inDoubt)
      .reduce((sum, { costMicros: cost }) => sum + cost, 0);
    const answered = double.bill.costMicros({ "double-1": price }, ({ outcome }) => outcome === "answered");
    expect(sure).toBe(answered);
    expect(result.costMicros - result.inDoubtMicros).toBe(answered);
    expect(result.costMicros).toBeGreaterThanOrEqual(double.bill.costMicros({ "double-1": price }));
  },
);

test("8.3 an aborted call is not retried", async () => {
  const double = await openDouble({ script: answers([{ text: "late", fault: "hang" }]) });
  const worker = agent({ name: "worker", model: model("chat", double), retry });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  await double.inFlight.reaches(1);
  await run.cancel("user");
  expect(await run.result()).toMatchObject({ status: "cancelled", stopReason: "cancelled" });
  expect(double.bill.entries).toHaveLength(1);
  expect(of(await t.events(run), "retry.start")).toEqual([]);
});

test("8.3 an abort ends the wait for a retry", async () => {
  const clock = manualClock();
  const double = await openDouble({ script: answers([{ fault: "overloaded" }]) });
  const worker = agent({ name: "worker", model: model("chat", double) });
  await using t = testRuntime({ agents: [worker], clock });
  const run = await t.start(worker, "go");
  await waitUntil(() => double.bill.entries.length === 1 && double.inFlight.requests === 0);
  await run.cancel("user");
  expect(await run.result()).toMatchObject({ status: "cancelled" });
  expect(double.bill.entries).toHaveLength(1);
});

test("3.8 budget errors are not retried", async () => {
  const double = await openDouble({ script: answers(["Never."]) });
  const worker = agent({ name: "worker", model: model("chat", double), retry, budget: { maxTokens: 10 } });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "go");
  expect(await run.result()).toMatchObject({ status: "failed", stopReason: "budget.tokens", output: null });
  const events = await t.events(run);
  expect(double.bill.entries).toEqual([]);
  expect(of(events, "retry.start")).toEqual([]);
});

test("8.3 maxRetries: 0 retries nothing", async () => {
  const double = await openDouble({ script: answers([{ fault: "overloaded" }]) });
  const worker = agent({ name: "worker", model: model("chat", double), retry: { maxRetries: 0 } });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "failed", error: { kind: "overloaded" } });
  expect(double.bill.entries).toHaveLength(1);
});

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);

async function untilStatus(run: { status(): Promise<string> }, status: string): Promise<void> {
  while ((await run.status()) !== status) await new Promise((resolve) => setImmediate(resolve));
}
