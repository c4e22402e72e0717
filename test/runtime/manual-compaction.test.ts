import { ChatMessage, SessionBusyError, tool } from "reeve";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  textOf,
  sizeOf,
  isSummary,
  question,
  open,
  eventsOf,
  entriesOf,
  take,
  compactionsOf,
} from "./talking-model.ts";

test("8.1 a compaction can be asked for: a tree of its own, charged, and only while no turn is going on", async () => {
  const talked = await open({}, { contextWindow: null });
  await using _ = talked.runtime;
  const { talk, model } = talked;
  expect(await talk.runCompaction()).toBeNull();
  await take(talked, 3);
  const before = await talk.contextUsage();
  const run = await talk.startCompaction({ instructions: "Keep the names." });
  await expect(talk.runCompaction()).rejects.toThrow(SessionBusyError);
  const { status, output, costMicros } = await run.result();
  await talk.waitForIdle();
  expect([status, output]).toEqual(["completed", (await talk.head()).leaf]);
  expect(costMicros).toBe(sizeOf(model.summaries[0]?.messages ?? []) + 60);
  expect(textOf(model.summaries[0]?.messages.at(-1) ?? ChatMessage.user(""))).toContain("Keep the names.");
  const types = (await eventsOf(run)).map(({ type }) => type).filter((type) => !type.startsWith("budget."));
  expect(types).toEqual([
    "run.start",
    "compaction.start",
    "model.start",
    "model.end",
    "compaction.end",
    "turn.saved",
    "session.settled",
    "run.end",
  ]);
  expect((await talk.contextUsage()).tokens).toBeLessThan(before.tokens);
  // A conversation that ends with a compaction has nothing to compact.
  expect(await talk.runCompaction()).toBeNull();
  expect(model.summaries).toHaveLength(1);
  await take(talked, 1, 4);
  expect(textOf(model.prompts.at(-1)?.messages[0] ?? ChatMessage.user(""))).toContain(
    "SUMMARY of question 1",
  );
});

test("8.1 a conversation reports that it is being compacted, after a turn and on request", async () => {
  const talked = await open();
  await using _ = talked.runtime;
  const { talk, model } = talked;
  const phases: string[] = [];
  const generate = model.generate.bind(model);
  model.generate = async (request) => {
    phases.push(`${isSummary(request) ? "summary" : "answer"} ${await talk.phase()}`);
    return generate(request);
  };
  for (let number = 1; !phases.some((phase) => phase.startsWith("summary")); number++)
    await take(talked, 1, number);
  await take(talked, 1, 50);
  await talk.runCompaction();
  expect(new Set(phases)).toEqual(new Set(["answer turn", "summary compaction"]));
  expect(await talk.phase()).toBe("idle");
});

test("8.5 agent code asks for a compaction after its turn", async () => {
  const talked = await open({
    tools: [
      tool({
        name: "tidy",
        description: "Tidies up",
        input: z.object({}),
        risk: "safe",
        run: async (ctx) => {
          ctx.session.compact();
          return "later";
        },
      }),
    ],
  });
  await using _ = talked.runtime;
  const { talk, model } = talked;
  await take(talked, 2);
  const generate = model.generate.bind(model);
  model.generate = async (request) => {
    if (isSummary(request) || request.messages.at(-1)?.role === "tool") return generate(request);
    const content = [{ type: "tool-call", callId: "1", name: "tidy", input: {} }] as const;
    return {
      message: { role: "assistant", content },
      usage: { input: 10, output: 1 },
      finishReason: "tool-calls",
    };
  };
  expect(compactionsOf(await entriesOf(talked))).toHaveLength(0);
  await talk.invoke(question(3));
  expect(compactionsOf(await entriesOf(talked))).toHaveLength(1);
});
