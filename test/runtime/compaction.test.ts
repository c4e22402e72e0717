import { agent, ChatMessage, createRuntime, tool, type Model } from "reeve";
import { Session } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import { readAll } from "./read-all.ts";
import {
  price,
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

test("8.5 a conversation that fills the model's context is summarized: charged, stored once, and updated later", async () => {
  const seen = [];
  for (const replayed of [false, true]) {
    const talked = await open({}, { replayed });
    await using _ = talked.runtime;
    const costs = await take(talked, 20);
    const compactions = compactionsOf(await entriesOf(talked));
    expect(compactions.length).toBeGreaterThanOrEqual(2);
    const [first, second] = talked.model.summaries.map(({ messages }) =>
      textOf(messages.at(-1) ?? ChatMessage.user("")),
    );
    expect(first).toContain("question 1");
    expect(first).not.toContain("<summary-so-far>");
    expect(second).toContain("<summary-so-far>\nSUMMARY of question 1");
    expect(second).not.toContain("user: question 1 ");
    expect(talked.model.summaries).toHaveLength(compactions.length);
    seen.push({
      costs,
      ids: compactions.map(({ summary, tokensBefore }) => [summary, tokensBefore]),
      prompts: talked.model.requests.map(({ messages }) => messages.map(textOf)),
    });
  }
  expect(seen[0]).toEqual(seen[1]);
});

test("8.5 a compaction comes after the reply, and before the session is settled", async () => {
  const talked = await open();
  await using _ = talked.runtime;
  let types: readonly string[] = [];
  for (let number = 1; !types.includes("compaction.end"); number++) {
    const run = await talked.talk.start(question(number));
    await run.result();
    const events = await eventsOf(run);
    types = events.map(({ type }) => type).filter((type) => !type.startsWith("budget."));
    await talked.talk.waitForIdle();
  }
  expect(types).toEqual([
    "run.start",
    "turn.start",
    "cycle.start",
    "model.start",
    "model.end",
    "cycle.end",
    "turn.saved",
    "turn.end",
    "compaction.start",
    "model.start",
    "model.end",
    "compaction.end",
    "session.settled",
    "run.end",
  ]);
});

test("8.5 there is no automatic compaction without a known context or with compaction off", async () => {
  for (const [options, how] of [
    [{}, { contextWindow: null }],
    [{ compaction: false }, {}],
  ] as const) {
    const talked = await open(options, how);
    await using _ = talked.runtime;
    await take(talked, 12);
    expect(talked.model.summaries).toEqual([]);
    expect(compactionsOf(await entriesOf(talked))).toEqual([]);
  }
});

test("8.5 a compaction is due strictly above the context less the reserve", async () => {
  const tokens = sizeOf([ChatMessage.user(question(1))]) + 60;
  for (const [contextWindow, count] of [
    [tokens + 400, 0],
    [tokens + 399, 1],
  ] as const) {
    const talked = await open({ compaction: { reserve: 400, keepRecent: 10 } }, { contextWindow });
    await using _ = talked.runtime;
    await take(talked, 1);
    expect(compactionsOf(await entriesOf(talked))).toHaveLength(count);
  }
});

test.each(["fails", "is refused"])(
  "8.5 a summary that %s changes nothing, and the next turn tries again",
  async (how) => {
    const talked = await open();
    await using _ = talked.runtime;
    const { talk, model } = talked;
    for (let number = 1; ; number++) {
      model.fails = how === "fails";
      const before = model.requests.length;
      const budget = how === "fails" ? {} : { budget: { maxTokens: 2_000 } };
      const run = await talk.start(question(number), budget);
      const result = await run.result();
      expect(result.status).toBe("completed");
      const events = await eventsOf(run);
      const ends = events.filter(({ type }) => type === "compaction.end");
      await talk.waitForIdle();
      if (ends.length === 0) continue;
      expect(ends).toMatchObject([{ entryId: null }]);
      expect(model.requests.slice(before).filter(isSummary)).toHaveLength(how === "fails" ? 1 : 0);
      expect(compactionsOf(await entriesOf(talked))).toEqual([]);
      const leaf = (await talk.head()).leaf;
      expect(events.find(({ type }) => type === "session.settled")).toMatchObject({ leaf });
      break;
    }
    model.fails = false;
    await take(talked, 1, 99);
    expect(compactionsOf(await entriesOf(talked))).toHaveLength(1);
  },
);

test("3.8 summaries count in tokens and cost, but not as turns", async () => {
  const talked = await open({ budget: { maxTurns: 1 } });
  await using _ = talked.runtime;
  const costs = await take(talked, 9);
  expect(compactionsOf(await entriesOf(talked)).length).toBeGreaterThan(0);
  const sent = talked.model.requests.reduce((sum, { messages }) => sum + sizeOf(messages) + 60, 0);
  expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe(sent);
});

test("8.5 a turn after a compaction sees the summary and the newest turns, and its figures start over", async () => {
  const talked = await open();
  await using _ = talked.runtime;
  const { talk, model } = talked;
  let count = 1;
  for (; compactionsOf(await entriesOf(talked)).length === 0; count++) await take(talked, 1, count);
  const usage = await talk.contextUsage();
  expect(usage.tokens).toBeLessThan(400);
  await take(talked, 1, count);
  const shown = model.prompts.at(-1)?.messages.map(textOf) ?? [];
  expect(shown[0]).toMatch(/^Summary of the conversation so far:\n\nSUMMARY of question 1, /);
  expect(shown).toHaveLength(6);
  // The conversation itself still has everything.
  expect((await talk.messages()).items).toHaveLength(2 * count);
});

test("8.5 a turn longer than the kept part is cut between two cycles, and its first part is summarized separately", async () => {
  let calls = 0;
  const model: Model = {
    id: "looking",
    maxOutputTokens: 400,
    contextWindow: 2_000,
    price,
    async generate(request) {
      const usage = { input: sizeOf(request.messages), output: 10 };
      if (isSummary(request)) {
        const text = textOf(request.messages.at(-1) ?? ChatMessage.user(""));
        const part = text.includes("first part of a turn") ? "PART" : "WHOLE";
        const found = [...text.matchAll(/finding (\d+)/g)].map(([, number]) => number).join(",");
        return { message: ChatMessage.assistant(`${part} ${found}`.trim()), usage, finishReason: "stop" };
      }
      const asked = request.messages.findLast(({ role }) => role === "user");
      const wanted = asked && textOf(asked).startsWith("look") ? 8 : 0;
      if (calls++ < wanted) {
        const content = [{ type: "tool-call", callId: `c${calls}`, name: "look", input: {} }] as const;
        return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
      }
      return { message: ChatMessage.assistant("done"), usage, finishReason: "stop" };
    },
  };
  let found = 0;
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    risk: "safe",
    execute: () => `finding ${(found += 1)} ${"words ".repeat(100)}`,
  });
  const lead = agent({
    name: "lead",
    model,
    tools: [look],
    compaction: { reserve: 800, keepRecent: 500 },
  });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const talk = await runtime.sessions.create(lead);
  await talk.invoke("hello");
  calls = 0;
  await talk.invoke("look");
  const { id } = talk;
  const entries = await readAll(
    new Session(runtime.store.sessions, { tenantId: null }, { id, userId: null }).entries(),
  );
  const [compaction] = compactionsOf(entries);
  expect(compaction?.summary).toBe("WHOLE\n\nEarlier in the newest turn:\n\nPART 1,2,3,4,5");
  const kept = entries.find((entry) => entry.id === compaction?.keptFrom);
  expect(kept).toMatchObject({ type: "message", message: { role: "assistant" } });
});

test("7.5 a summary has the labels of its messages, and gives them to later turns", async () => {
  const page = tool({
    name: "page",
    description: "Reads a page",
    input: z.object({}),
    risk: "safe",
    origin: "web",
    execute: () => "a page that a stranger wrote",
  });
  const talked = await open({ tools: [page] });
  await using _ = talked.runtime;
  const { talk, model } = talked;
  const answer = model.generate.bind(model);
  let hasLooked = false;
  model.generate = async (request) => {
    if (hasLooked || isSummary(request)) return answer(request);
    hasLooked = true;
    const content = [{ type: "tool-call", callId: "1", name: "page", input: {} }] as const;
    return {
      message: { role: "assistant", content },
      usage: { input: 1, output: 1 },
      finishReason: "tool-calls",
    };
  };
  for (let number = 1; compactionsOf(await entriesOf(talked)).length === 0; number++)
    await take(talked, 1, number);
  const [compaction] = compactionsOf(await entriesOf(talked));
  expect(compaction?.labels).toMatchObject({ untrusted: true, sources: [{ kind: "tool", name: "page" }] });
  await talk.invoke(question(99));
  const newest = (await entriesOf(talked)).at(-1);
  expect(newest?.labels).toMatchObject({ untrusted: true, sources: [{ kind: "tool", name: "page" }] });
});
