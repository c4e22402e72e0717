import * as fc from "fast-check";
import {
  agent,
  ChatMessage,
  createRuntime,
  type Model,
  type ModelResponse,
  type NumberedEvent,
  type RunDelta,
} from "reeve";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { loopLimits, RepeatedText } from "#agents";
import { readAll } from "../runtime/read-all.ts";
import { cpuMs } from "../cpu-time.ts";
import { eventsOf } from "./events-of.ts";
import { expectWithin } from "../effort.ts";

const limits = loopLimits.sameText ?? { characters: 0, times: 0 };

/** The characters after which a text is cut, given in pieces of a size; null: it is not. */
function cutAt(text: string, size = text.length): number | null {
  const detector = new RepeatedText(limits);
  for (let at = 0; at < text.length; at += size)
    if (detector.take(text.slice(at, at + size))) return Math.min(at + size, text.length);
  return null;
}

const prose = Array.from({ length: 2_000 }, (_, n) => `Sentence ${n} of the report says ${n * n}. `).join("");

test.each([
  ["a character", "a"],
  ["a word", "again "],
  ["a line", "I will look at the file once more.\n"],
  ["a block of lines", Array.from({ length: 20 }, (_, n) => `Line ${n} of the same plan.\n`).join("")],
])("%s that repeats is detected soon, with text before it", (_, block) => {
  const before = prose.slice(0, 10_000);
  const text = before + block.repeat(Math.ceil(40_000 / block.length));
  const seenAt = cutAt(text, 7) ?? Infinity;
  const needed = Math.max(limits.characters, limits.times * block.length);
  expect(seenAt - before.length).toBeLessThanOrEqual(needed + limits.characters / 4 + 7);
  const found = new RepeatedText(limits).take(text);
  expect(Math.abs((found?.keep ?? 0) - before.length)).toBeLessThanOrEqual(block.length);
});

test("a text that does not repeat itself is not cut", () => {
  const table = Array.from({ length: 3_000 }, (_, n) => `| ${n} | yes | no |`).join("\n");
  const code = Array.from({ length: 200 }, (_, n) => `  if (a[${n}]) {\n    return ${n};\n  }\n`).join("");
  const ruled = `${"-".repeat(3_500)}\n`.repeat(7);
  for (const text of [prose, table, code, ruled, "same line\n".repeat(790), ""])
    expect(cutAt(text)).toBeNull();
});

test("detection does not depend on how a text is split", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 40 }),
      fc.nat(3_000),
      fc.nat(16_000),
      fc.integer({ min: 1, max: 500 }),
      (block, prefix, repeated, size) => {
        const text = prose.slice(0, prefix) + block.repeat(repeated / block.length) + prose;
        const [whole, inPieces] = [new RepeatedText(limits), new RepeatedText(limits)];
        for (let at = 0; at < text.length; at += size) inPieces.take(text.slice(at, at + size));
        expect(inPieces.take("")).toEqual(whole.take(text));
      },
    ),
    { numRuns: 60 },
  );
});

test("1 MB in small pieces costs no more for each character than 100 kB", () => {
  /** The worst case for loop detection: almost periodic everywhere, and never cut. */
  const almost = `${"ab".repeat(3_600)}c`;
  const costOf = (length: number): number => {
    const text = almost.repeat(Math.ceil(length / almost.length)).slice(0, length);
    return cpuMs(() => expect(cutAt(text, 4)).toBeNull());
  };
  costOf(100_000);
  const small = costOf(100_000);
  const large = costOf(1_000_000);
  expectWithin(1_000, large);
  expect(large).toBeLessThan(30 * Math.max(small, 5));
});

const line = "I will look at the file once more.\n";

/** A model that repeats itself `times` times before it answers. Streams where it has a reader. */
class RepeatingModel implements Model {
  readonly id = "repeating";
  readonly maxOutputTokens = 50_000;
  readonly times: number;
  calls = 0;
  /** Characters that were streamed. */
  streamed = 0;

  constructor(times: number) {
    this.times = times;
  }

  async generate(
    _: Parameters<Model["generate"]>[0],
    { signal, onDelta }: Parameters<Model["generate"]>[1],
  ): Promise<ModelResponse> {
    this.calls += 1;
    const text = this.calls > this.times ? "The file is empty." : `Let me see.\n${line.repeat(3_000)}`;
    for (const piece of onDelta ? (text.match(/[^]{1,5}/g) ?? []) : []) {
      signal.throwIfAborted();
      this.streamed += piece.length;
      onDelta?.({ kind: "text", text: piece });
    }
    return {
      message: ChatMessage.assistant(text),
      usage: { input: 100, output: 30_000 },
      finishReason: "stop",
    };
  }
}

/** Takes a turn, and returns its result with its events, the pieces that a reader gets, and the conversation. */
async function take(
  model: Model,
  {
    isRead,
    replayEveryStep = false,
    limit = loopLimits,
  }: { isRead: boolean; replayEveryStep?: boolean; limit?: typeof loopLimits },
) {
  const lead = agent({ name: "lead", model, loopLimits: limit });
  await using runtime = createRuntime({
    agents: [lead],
    store: memoryStore(),
    engine: local({ replayEveryStep }),
  });
  const talk = await runtime.sessions.create(lead);
  const pieces: RunDelta[] = [];
  const run = await (async () => {
    if (!isRead) return talk.start("go");
    const stream = talk.stream("go");
    for await (const piece of stream) pieces.push(piece);
    return stream.run;
  })();
  const result = await run.result();
  await talk.waitForIdle();
  const events: readonly NumberedEvent[] = await readAll(run.events());
  const { items } = await talk.messages();
  const said = items.toReversed().map((message) => `${message.role}: ${ChatMessage.text(message)}`);
  return { result, events, pieces, said };
}

const reason = "the answer repeated the same 35 characters";
const cases = [true, false].flatMap((isRead) =>
  [true, false].map((replayEveryStep) => ({ isRead, replayEveryStep })),
);

test.each(cases)(
  "7.9 an answer that repeats itself is cut off and given again (read: $isRead, replayed: $fuzz)",
  async (options) => {
    const model = new RepeatingModel(1);
    const { result, events, pieces, said } = await take(model, options);
    expect([result.status, result.output, model.calls]).toEqual(["completed", "The file is empty.", 2]);
    expect(said).toHaveLength(4);
    expect(said[1]?.trimEnd()).toBe(`assistant: Let me see.\n${line}`.trimEnd());
    expect(said[2]).toMatch(
      /^user: Your answer was stopped: the answer repeated the same 35 characters \d+ times\./,
    );
    expect(said[3]).toBe("assistant: The file is empty.");
    expect(eventsOf(events, "guardrail.trip")).toMatchObject([
      { guardrail: "loop-detection", decision: "block", reason: expect.stringContaining(reason) },
    ]);
    const [first] = eventsOf(events, "budget.settled");
    // An answer that is cut off while streaming has no usage: it remains booked at its ceiling.
    expect(first?.inDoubt).toBe(options.isRead);
    if (!options.isRead) return;
    expect(model.streamed).toBeLessThan(10_100);
    expect(pieces.map(({ text }) => text).join("").length).toBeLessThan(10_100);
  },
);

test("7.9 an agent that repeats itself in three answers is stopped", async () => {
  const model = new RepeatingModel(10);
  const { result, events, said } = await take(model, { isRead: true });
  expect([result.status, result.stopReason, model.calls]).toEqual(["failed", "guardrail", 3]);
  const trips = eventsOf(events, "guardrail.trip").map(({ decision }) => decision);
  expect(trips).toEqual(["block", "block", "halt"]);
  expect(said).toEqual([]);
});

test("without a limit for text an answer may repeat itself", async () => {
  const { sameText: _, ...limit } = loopLimits;
  const { result } = await take(new RepeatingModel(1), { isRead: false, limit });
  expect(String(result.output)).toContain(line.repeat(3_000));
});

test("reasoning that repeats itself is also cut off", async () => {
  let calls = 0;
  const model: Model = {
    id: "brooding",
    generate: async (_, { signal, onDelta }) => {
      calls += 1;
      for (const text of calls === 1 ? Array.from({ length: 3_000 }, () => line) : []) {
        signal.throwIfAborted();
        onDelta?.({ kind: "reasoning", text });
      }
      return { message: ChatMessage.assistant("done"), usage: null, finishReason: "stop" };
    },
  };
  const { result, events } = await take(model, { isRead: true });
  expect([result.output, calls]).toEqual(["done", 2]);
  expect(eventsOf(events, "guardrail.trip")).toHaveLength(1);
});
