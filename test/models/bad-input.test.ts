import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ModelError, type Model, type RunContext } from "reeve";
import { type ModelDelta, AgentId, ChatMessage, Json } from "#kernel";
import { manualClock, testRuntime } from "reeve/testing";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isMalformed, languageModel, strictJson } from "#models";
import { AnswerBuilder } from "../../src/models/answer-builder.ts";
import { readToolInput } from "../../src/models/tool-input.ts";
import { fakeV4, finish } from "./fake-models.ts";
import { hello } from "./real-providers.ts";
import { cpuMs } from "../cpu-time.ts";

const prototypeBefore = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
let memoryBefore = 0;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Returns the used memory in bytes after a collection. */
function usedMemory(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

beforeAll(() => {
  memoryBefore = usedMemory();
});

afterAll(() => {
  expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototypeBefore);
});

/** The same numbers for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const keys = [
  "a",
  "to",
  "__proto__",
  "constructor",
  "prototype",
  "\\u005f_proto__",
  "toString",
  "",
  "é",
  "\\ud800",
];
const leaves = [
  "1",
  "null",
  '"x"',
  '"\\u0000"',
  '"\\udfff"',
  "1e999",
  "-0",
  '"__proto__"',
  "tru",
  "NaN",
  "'x'",
];

function randomJson(random: (below: number) => number, depth: number): string {
  const kind = random(depth > 5 ? 1 : 3);
  const inner = (): string => randomJson(random, depth + 1);
  const list = kind === 0 ? [] : Array.from({ length: random(4) }, inner);
  if (kind === 0) return leaves[random(leaves.length)] ?? "0";
  if (kind === 1) return `[${list.join(",")}]`;
  return `{${list.map((value) => `"${keys[random(keys.length)]}":${value}`).join(",")}}`;
}

/** An unsafe merge of untrusted data, as code should not do it. */
function merge(into: Record<string, unknown>, from: unknown): void {
  if (typeof from !== "object" || from === null || Array.isArray(from)) return;
  for (const [key, value] of Object.entries(from)) {
    const known = into[key];
    if (typeof known === "object" && known !== null && key === "__proto__") merge(Object(known), value);
    else into[key] = value;
  }
}

test("100,000 random arguments with poisoned keys each give a value or a reason, and no prototype changes", () => {
  const random = randomFrom(7);
  const counts: Record<string, number> = {};
  for (let index = 0; index < 100_000; index++) {
    const text = randomJson(random, 0);
    const read = readToolInput(text);
    const outcome = "malformedBecause" in read ? read.malformedBecause : "value";
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome !== "value") continue;
    if (JSON.stringify(read.input) !== JSON.stringify(JSON.parse(text))) throw new Error(text);
    const merged: Record<string, unknown> = {};
    merge(merged, read.input);
    if (Object.getPrototypeOf(merged) !== Object.prototype) throw new Error(text);
  }
  process.stdout.write(`100,000 random arguments: ${JSON.stringify(counts)}\n`);
  expect(Object.keys(counts).toSorted()).toEqual([
    "broken-text",
    "duplicate-key",
    "inexact-number",
    "not-json",
    "poisoned-key",
    "value",
  ]);
  expect(Reflect.get({}, "admin")).toBeUndefined();
});

/** Returns the CPU time to read a text. */
const time = (text: string): number => cpuMs(() => void strictJson(text));

test("reading takes time in proportion to the text", () => {
  const texts = [
    (size: number) => `[${Array.from({ length: size / 4 }, () => '"a"').join(",")},"\\u0041"]`,
    (size: number) => `{${Array.from({ length: size / 12 }, (_, key) => `"k${key}":1`).join(",")}}`,
    (size: number) => `"${"\\\\".repeat(size / 2 - 1)}"`,
    (size: number) => `"${"\\u0041".repeat(size / 6 - 1)}"`,
  ];
  for (const make of texts) {
    const [short, long] = [make(90_000), make(900_000)];
    time(short);
    expect(time(long)).toBeLessThan(60 * Math.max(2, time(short)));
  }
});

/** A model with an endless stream. */
function endlessModel(next: () => LanguageModelV4StreamPart): {
  readonly model: Model;
  readonly pulls: () => number;
} {
  let pulls = 0;
  const inner: LanguageModelV4 = {
    ...fakeV4([]).model,
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        pull: (controller) => {
          pulls += 1;
          controller.enqueue(next());
        },
      }),
    }),
  };
  return { model: languageModel(inner), pulls: () => pulls };
}

const part = (value: object): LanguageModelV4StreamPart => Json.as(Json.of(value));
const large = "x".repeat(10_000_000);

test.each<[string, object]>([
  ["one text delta of 10 MB", { type: "text-delta", id: "1", delta: large }],
  ["one thought of 10 MB", { type: "reasoning-delta", id: "1", delta: large }],
  ["arguments of 10 MB, as they come", { type: "tool-input-delta", id: "1", delta: large }],
  ["arguments of 10 MB at once", { type: "tool-call", toolCallId: "1", toolName: "x", input: large }],
  ["a stream without end", { type: "text-delta", id: "1", delta: "x".repeat(1_000) }],
  ["a stream of nothing without end", { type: "text-delta", id: "1", delta: "" }],
  ["a stream of unknown parts", { type: "surprise" }],
])("%s ends in a typed error that is not retried", async (_, given) => {
  const { model, pulls } = endlessModel(() => part(given));
  const seen: ModelDelta[] = [];
  const onDelta = (delta: ModelDelta): void => void (seen.length < 3 && seen.push(delta));
  const failure = await model
    .generate(hello, { signal: new AbortController().signal, onDelta })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ModelError);
  expect(failure).toMatchObject({ kind: "format", retryable: false, unbilled: false });
  expect(pulls()).toBeLessThanOrEqual(1_000_010);
});

test("an answer that is not streamed has the same limits, files included", () => {
  const answer = new AnswerBuilder();
  expect(() => answer.add(part({ type: "text", text: large }))).toThrow(ModelError);
  const files = new AnswerBuilder();
  const file = { type: "file", mediaType: "image/png", data: "a".repeat(30_000_000) };
  expect(() => Array.from({ length: 3 }, () => files.add(file))).toThrow(/64000000 bytes of files/);
});

/** Calls the model as if there were a subscriber. */
const callStreaming = (model: Model): Model => ({
  ...model,
  generate: (request, call) => model.generate(request, { ...call, ...watched }),
});
const watched = { onDelta: (): void => {} };

test("a stream of one letter a second ends after the time a call may take", async () => {
  const clock = manualClock();
  let isCancelled = false;
  const inner: LanguageModelV4 = {
    ...fakeV4([]).model,
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        pull: async (controller) => {
          await clock.waitUntil(clock.now() + 1_000, new AbortController().signal);
          if (!isCancelled) controller.enqueue(part({ type: "text-delta", id: "1", delta: "x" }));
        },
        cancel: () => void (isCancelled = true),
      }),
    }),
  };
  const researcher = {
    id: AgentId.of("researcher"),
    model: callStreaming(languageModel(inner, { price: { input: 1_000_000, output: 1_000_000 } })),
    policy: { retry: { maxRetries: 0 } },
    run: async (ctx: RunContext) => ChatMessage.text((await ctx.llm([ChatMessage.user("talk")])).message),
  };
  await using t = testRuntime({ agents: [researcher], clock, replay: false });
  const run = await t.start(researcher, "go");
  const result = run.result();
  for (let second = 0; second < 610; second++) await clock.advance(1_000);
  const { status, error, costMicros, inDoubtMicros } = await result;
  expect([status, error?.["kind"]]).toEqual(["failed", "timeout"]);
  expect([costMicros > 0, inDoubtMicros]).toEqual([true, costMicros]);
});

test.each([-1, Number.NaN, Infinity, 1e300, 0.5, "many", null, {}])(
  "3.7 usage of %s tokens is not a report: the call stays booked at its ceiling, in doubt",
  async (total) => {
    const usage = Json.as<ReturnType<typeof finish>["usage"]>(
      Json.of({ inputTokens: { total: 10 }, outputTokens: { total } }),
    );
    const { model } = fakeV4([{ type: "text", text: "hi" }], { ...finish("stop"), usage });
    const researcher = {
      id: AgentId.of("researcher"),
      model: languageModel(model, { price: { input: 1_000_000, output: 1_000_000 }, maxOutputTokens: 100 }),
      run: async (ctx: RunContext) => ChatMessage.text((await ctx.llm([ChatMessage.user("talk")])).message),
    };
    await using t = testRuntime({ agents: [researcher] });
    const { output, costMicros, inDoubtMicros } = await t.run(researcher, "go");
    expect([output, inDoubtMicros]).toEqual(["hi", costMicros]);
    expect(costMicros).toBeGreaterThan(100);
  },
);

test("the tests of this file leave less than 50 MB of memory in use", () => {
  const growth = usedMemory() - memoryBefore;
  process.stdout.write(`memory growth: ${Math.round(growth / 1e6)} MB\n`);
  expect(growth).toBeLessThan(50_000_000);
});

test("the type of malformed tool input includes the reason", () => {
  const block = { type: "tool-call", callId: "1", name: "x", ...readToolInput("{") } as const;
  expect(isMalformed(block) && block.malformedBecause).toBe("not-json");
});
