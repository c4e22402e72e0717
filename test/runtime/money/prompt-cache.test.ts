import { agent, createRuntime, languageModel, tool, type AgentOptions, type PromptSection } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { ProviderMessage, type ProviderScript } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDouble, realModel, type ProviderName } from "../../testing/real-providers.ts";
import { isFull } from "../../effort.ts";

const price = { input: 3_000_000, output: 15_000_000, cachedInput: 300_000, cacheWrite: 3_750_000 };
const maxTurns = isFull ? 200 : 60;

/** A search for each question, then an answer. */
const script: ProviderScript = ({ messages }) =>
  messages.findLast((message) => !ProviderMessage.text(message).startsWith("Page "))?.role === "tool"
    ? { text: "The report says so, on its second page. ".repeat(4) }
    : { toolCalls: [{ name: "search", input: { query: "report" } }] };

const search = tool({
  name: "search",
  description: "Searches the library",
  input: z.object({ query: z.string() }),
  risk: "safe",
  execute: () => "A page of the report with a few figures. ".repeat(6),
});

/** Lets one agent answer many turns of one conversation, and returns the bill of all calls from the second turn on. */
async function talkOnWire(
  name: ProviderName,
  {
    turns = maxTurns,
    ...parts
  }: Pick<AgentOptions, "ephemeral" | "sections"> & { readonly turns?: number } = {},
) {
  const double = await openDouble({
    script,
    promptCache: {},
    // A provider's own text is cached with the rest. The fake provider draws it for each call.
    hiddenTokensPerMessage: 0,
    toolPromptTokens: 0,
  });
  const model = languageModel(realModel(name, double), { price, contextWindow: 1_000_000 });
  const instructions = "You answer questions about reports, with their pages. ".repeat(20);
  const researcher = agent({ name: "researcher", model, instructions, tools: [search], ...parts });
  await using runtime = createRuntime({ agents: [researcher], store: memoryStore() });
  // No compaction: the model's window holds the whole conversation.
  const talk = await runtime.sessions.create(researcher);
  let costMicros = 0;
  for (let turn = 1; turn <= turns; turn++) {
    const { status, costMicros: cost } = await talk.invoke(`Question ${turn}: what does the report say?`);
    expect(status).toBe("completed");
    costMicros += cost;
  }
  const [, , ...later] = double.bill.entries;
  const input = later.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  const cached = later.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  return { double, costMicros, share: cached / input, calls: later.length };
}

test("state that is shown last in every prompt leaves the cache of all before it", async ({ annotate }) => {
  let reads = 0;
  const page = { name: "browser", getState: () => `Page ${(reads += 1)}. `.repeat(100) };
  const { double, costMicros, share } = await talkOnWire("anthropic", { ephemeral: [page] });
  await annotate(`anthropic: ${(100 * share).toFixed(1)} % of the input was cached`);
  expect(share).toBeGreaterThanOrEqual(0.8);
  expect(costMicros).toBe(double.bill.costMicros({ "double-1": price }));
});

test.for(["anthropic", "chat"] as const)(
  `over ${maxTurns / 2} turns through %s with sections and changing memory, four fifths of the input come from the cache`,
  async (name, { annotate }) => {
    let reads = 0;
    const memory = (): string => `The user has read ${Math.floor((reads += 1) / 20)} reports. `.repeat(10);
    const sections: readonly PromptSection[] = [
      { name: "docs", place: "docs", read: () => "Reports have pages, and pages have figures. ".repeat(40) },
      { name: "memory", place: "memory", keep: "turn", read: memory },
    ];
    const { double, costMicros, share } = await talkOnWire(name, { turns: maxTurns / 2, sections });
    await annotate(`${name}: ${(100 * share).toFixed(1)} % of the input was cached`);
    expect(reads).toBe(maxTurns / 2);
    expect(share).toBeGreaterThanOrEqual(0.8);
    expect(costMicros).toBe(double.bill.costMicros({ "double-1": price }));
  },
);

test.for(["anthropic", "chat"] as const)(
  `over ${maxTurns} turns of a conversation through %s four fifths of the input come from the cache, and are charged so`,
  async (name, { annotate }) => {
    const { double, costMicros, share, calls } = await talkOnWire(name);
    await annotate(
      `${name}: ${(100 * share).toFixed(1)} % of the input of turns 2 to ${maxTurns} was cached`,
    );
    expect(calls).toBe(2 * (maxTurns - 1));
    expect(share).toBeGreaterThanOrEqual(0.8);
    expect(costMicros).toBe(double.bill.costMicros({ "double-1": price }));
  },
);
