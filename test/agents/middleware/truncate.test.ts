import {
  agent,
  ChatMessage,
  ContentBlock,
  truncateContent,
  truncateHistory,
  type ChatMiddleware,
} from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { agentOf } from "../../../src/testing/engine-suite/harness.ts";
import { look } from "./models.ts";

const text = ({ messages }: { readonly messages: readonly ChatMessage[] }): readonly string[] =>
  messages.map((message) => ChatMessage.text(message) || message.content.map(({ type }) => type).join());

test("a long conversation is shown from its first message and its newest ones, calls with their results", async () => {
  const model = scriptedModel([
    call("look", { question: "1" }),
    call("look", { question: "2" }),
    call("look", { question: "3" }),
    say("done"),
  ]);
  const chat = [truncateHistory({ maxMessages: 3 })];
  const store = memoryStore();
  const worker = agent({ name: "worker", model, tools: [look([])], middleware: { chat } });
  await using t = testRuntime({ agents: [worker], store });
  const run = await t.runtime.start(worker, "the task");
  expect((await run.result()).output).toBe("done");
  expect(model.requests.map((request) => text(request))).toEqual([
    ["the task"],
    ["the task", "tool-call", "tool-result"],
    ["the task", "tool-call", "tool-result"],
    ["the task", "tool-call", "tool-result"],
  ]);
  expect(JSON.stringify(model.requests[3]?.messages)).toContain("found 3");
  const steps = await t.runtime.steps(run.runId);
  const manifests = await Promise.all(steps.items.map(({ stepId }) => t.runtime.prompt(stepId)));
  const noted = manifests.flatMap(({ manifest }) => manifest?.decisions ?? []);
  expect(noted).toEqual([
    { by: "truncateHistory", layer: "middleware", decision: "left out 2 messages" },
    { by: "truncateHistory", layer: "middleware", decision: "left out 4 messages" },
  ]);
});

/** Calls a model through middleware. Returns its prompt. */
async function promptThrough(
  layer: ChatMiddleware,
  messages: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  const model = scriptedModel([say("done")]);
  const asker = agentOf("asker", async (ctx) => void (await ctx.llm(messages)), {
    model,
    policy: { chat: [layer] },
  });
  await using t = testRuntime({ agents: [asker], replay: false });
  expect((await t.run(asker, "go")).status).toBe("completed");
  return model.requests[0]?.messages ?? [];
}

test("the newest message is shown, however long it is", async () => {
  const messages = ["a", "b", "x".repeat(10_000)].map((word) => ChatMessage.user(word));
  const layer = truncateHistory({ maxTokens: 10, keepFirst: false });
  expect(await promptThrough(layer, messages)).toEqual([messages[2]]);
  expect(() => truncateHistory({ maxMessages: 0 })).toThrow(RangeError);
});

test("long texts of messages and results are cut in the middle, never inside a character", async () => {
  const long = `begin${"😀".repeat(500)}end`;
  const result = { type: "tool-result", callId: "1", name: "look", isError: false } as const;
  const messages: ChatMessage[] = [
    ChatMessage.user(long),
    { role: "tool", content: [{ ...result, content: [ContentBlock.text(long)] }] },
    ChatMessage.user("short"),
  ];
  const [first, second, third] = await promptThrough(truncateContent({ maxCharacters: 101 }), messages);
  const cut = ChatMessage.text(first ?? ChatMessage.user(""));
  expect(cut).toMatch(/^begin(?:😀)+\n\[\.\.\. 907 of 1008 characters are left out \.\.\.\]\n(?:😀)+end$/u);
  expect(cut.isWellFormed()).toBe(true);
  expect(JSON.stringify(second)).toContain("characters are left out");
  expect(third).toEqual(messages[2]);
  expect(() => truncateContent({ maxCharacters: 5 })).toThrow(RangeError);
});
