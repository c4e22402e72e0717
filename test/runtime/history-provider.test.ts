import { ChatMessage } from "reeve";
import { type HistoryProvider, type HistoryRequest } from "#kernel";
import { expect, test } from "vitest";
import { compactionsOf, entriesOf, open, question, take, textOf } from "./talking-model.ts";

/** A history provider that records its requests. */
function providerOf(
  ...messages: readonly ChatMessage[]
): HistoryProvider & { readonly asked: HistoryRequest[] } {
  const asked: HistoryRequest[] = [];
  return {
    asked,
    read: async (request) => {
      asked.push(request);
      return { messages };
    },
  };
}

test("8.3 a history provider takes the place of the stored conversation in prompts, not in the store", async () => {
  const history = providerOf(ChatMessage.user("from elsewhere"), ChatMessage.assistant("I see"));
  const talked = await open({ history });
  await using _ = talked.runtime;
  await take(talked, 2);
  const shown = talked.model.prompts.map(({ messages }) =>
    messages.map((message) => textOf(message).slice(0, 14)),
  );
  expect(shown).toEqual([
    ["from elsewhere", "I see", question(1).slice(0, 14)],
    ["from elsewhere", "I see", question(2).slice(0, 14)],
  ]);
  const { leaf } = await talked.talk.head();
  expect(history.asked.map(({ at }) => at)).toEqual([null, expect.any(String)]);
  expect(history.asked[1]?.at).not.toBe(leaf);
  expect(history.asked[1]?.session).toEqual({ id: "talk", userId: "ada", tenantId: null });
  expect(await entriesOf(talked)).toHaveLength(4);
});

test("8.3 a provider's broken messages are repaired: no call without its result, no bare result", async () => {
  const history = providerOf(
    {
      role: "tool",
      content: [{ type: "tool-result", callId: "9", name: "look", content: [], isError: false }],
    },
    ChatMessage.user("look"),
    { role: "assistant", content: [{ type: "tool-call", callId: "1", name: "look", input: {} }] },
  );
  const talked = await open({ history });
  await using _ = talked.runtime;
  await take(talked, 1);
  const blocks =
    talked.model.prompts[0]?.messages.flatMap(({ content }) => content.map(({ type }) => type)) ?? [];
  const count = (type: string): number => blocks.filter((each) => each === type).length;
  expect(count("tool-call")).toBe(count("tool-result"));
  expect(blocks[0]).toBe("text");
});

test("8.5 a conversation with a history provider is not compacted", async () => {
  const talked = await open({ history: providerOf() });
  await using _ = talked.runtime;
  await take(talked, 12);
  expect(talked.model.summaries).toEqual([]);
  expect(await talked.talk.runCompaction()).toBeNull();
  expect(compactionsOf(await entriesOf(talked))).toEqual([]);
});
