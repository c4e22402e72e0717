// Compaction: a conversation that has filled the model's context is summed up, and goes on. So does a single long turn.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, type Model, tool, trimResults } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { z } from "zod";

/** A model with a small context, which reads about four characters as one token, and writes short summaries. */
class SmallModel implements Model {
  readonly id = "small";
  readonly contextWindow = 1_000;
  readonly maxOutputTokens = 200;
  readonly price = { input: 1_000_000, output: 4_000_000 };
  /** The texts of the last prompt. */
  shown: readonly string[] = [];
  summaries = 0;

  async generate({ messages }: Parameters<Model["generate"]>[0]): ReturnType<Model["generate"]> {
    const usage = { input: Math.ceil(JSON.stringify(messages).length / 4), output: 50 };
    const isSummary = messages[0]?.role === "system";
    if (!isSummary) this.shown = messages.map(ChatMessage.text);
    this.summaries += isSummary ? 1 : 0;
    const last = messages.at(-1);
    const pages = messages.filter(({ role }) => role === "tool").length;
    if (
      !isSummary &&
      last &&
      (last.role === "tool" || ChatMessage.text(last).startsWith("Read")) &&
      pages < 2
    ) {
      const content = [{ type: "tool-call", callId: `c${pages}`, name: "read_page", input: {} }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    }
    const text = isSummary
      ? `Summary ${this.summaries}: the user asks about heat pumps.`
      : "Sales grew. ".repeat(10);
    return { message: ChatMessage.assistant(text), usage, finishReason: "stop" };
  }
}

const read_page = tool({
  name: "read_page",
  description: "Reads the next page of the report",
  input: z.object({}),
  risk: "safe",
  execute: () => `A page about heat pumps. ${"Many words. ".repeat(60)}`,
});

const model = new SmallModel();
const lead = agent({
  name: "lead",
  model,
  tools: [read_page],
  // 200 tokens of the context remain free, and the newest 300 are never summarised.
  compaction: { reserve: 200, keepRecent: 300, instructions: "Keep all numbers." },
});
await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
const talk = await runtime.sessions.create(lead, { user: "ada" });

// Turn by turn the context fills; then the oldest turns are summed up, after the answer is out. The turn pays for it.
const costs: number[] = [];
while (model.summaries === 0)
  costs.push((await talk.invoke("How did sales of heat pumps develop?")).costMicros);
assert.ok(costs.length > 3);
assert.ok((costs.at(-1) ?? 0) > (costs.at(-2) ?? 0) + 200); // the last turn paid for a summary in addition to its answer

// The next turn is shown the summary and the newest turns. The conversation still has everything.
await talk.invoke("And in Portugal?");
assert.match(model.shown[0] ?? "", /^Summary of the conversation so far:\n\nSummary 1/);
assert.equal((await talk.messages()).items.length, 2 * costs.length + 2);

// One long turn: a prompt that is too long is never sent. Everything read so far is summarised, and the turn continues.
const before = model.summaries;
assert.equal((await talk.invoke("Read the whole report")).status, "completed");
assert.ok(model.summaries > before);

// A user may ask for it, too: it is a tree of its own, with a budget of its own.
await talk.invoke("Thank you");
const entry = await talk.runCompaction({ budget: { maxCostUsd: 1 } });
assert.ok(entry);
assert.equal((await talk.head()).leaf, entry);
assert.ok((await talk.contextUsage()).tokens < 400);

// A view changes the prompt of one call, and stores nothing.
const messages = (await talk.messages()).items.toReversed();
const view = trimResults({ wholeCycles: 1, characters: 20 }).compact(messages);
assert.ok(JSON.stringify(view).length < JSON.stringify(messages).length);
