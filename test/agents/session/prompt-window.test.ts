import { type ChatMessage, ContentBlock } from "reeve";
import { type EntryDraft, getPromptWindow, type PromptWindowOptions, type SessionStore } from "reeve/store";
import { expect, test } from "vitest";
import { estimateTokens } from "#models";
import { memoryStore } from "reeve/stores/memory";
import {
  call,
  assistantCalls,
  compaction,
  entry,
  id,
  reply,
  result,
  results,
  abbreviate,
  talk,
  user,
} from "./talk.ts";

async function windowOf(
  drafts: readonly EntryDraft[],
  options?: PromptWindowOptions,
): Promise<readonly ChatMessage[]> {
  const session = await talk();
  await session.append(drafts);
  return getPromptWindow(session, options);
}
const shortWindowOf = async (drafts: readonly EntryDraft[], options?: PromptWindowOptions) =>
  (await windowOf(drafts, options)).map(abbreviate);

test("a window has the messages of the path, oldest first", async () => {
  const drafts = [
    user("a"),
    { id: id("m"), at: 0, type: "model-change", model: "small" },
    reply("b"),
    { id: id("c"), at: 0, type: "custom", kind: "note", data: { text: "private" } },
  ] as const;
  expect(await shortWindowOf(drafts)).toEqual(["a", "b"]);
});

test("the system prompt is not part of a window", async () => {
  const system = entry("s", { role: "system", content: [ContentBlock.text("be kind")] });
  expect(await shortWindowOf([system, user("a")])).toEqual(["a"]);
});

test("a window can be pinned at an entry, whatever is written after it", async () => {
  const session = await talk();
  await session.append([user("a"), reply("b"), user("c")]);
  expect((await getPromptWindow(session, { at: id("b") })).map(abbreviate)).toEqual(["a", "b"]);
  expect(await getPromptWindow(session, { at: null })).toEqual([]);
});

test("a window keeps the newest messages", async () => {
  expect(await shortWindowOf([user("a"), reply("b"), user("c")], { maxMessages: 2 })).toEqual(["b", "c"]);
  expect(await shortWindowOf([user("a")], { maxMessages: 0 })).toEqual([]);
});

test("a token limit holds even if the newest message does not fit", async () => {
  const drafts = Array.from({ length: 10 }, (_, index) => user(`e${index}`, "some words and more of them"));
  const all = await windowOf(drafts);
  const limit = estimateTokens(all.slice(-4)) + 1;
  expect(await windowOf(drafts, { maxTokens: limit })).toEqual(all.slice(-4));
  expect(await windowOf([user("a"), user("b", "long ".repeat(1_000))], { maxTokens: 100 })).toEqual([]);
});

test("the summary of the newest compaction replaces everything before its first kept entry", async () => {
  const drafts = [
    user("a"),
    reply("b"),
    compaction("c1", "old", "b"),
    user("c"),
    reply("d"),
    compaction("c2", "a to b", "c"),
    user("e"),
  ];
  expect(await shortWindowOf(drafts)).toEqual([
    "Summary of the conversation so far:\n\na to b",
    "c",
    "d",
    "e",
  ]);
});

test("the summary of a compaction is kept before older messages", async () => {
  const drafts = [user("a"), user("b"), user("c"), compaction("s", "a", "b"), user("d")];
  expect(await shortWindowOf(drafts, { maxMessages: 3 })).toEqual([
    "Summary of the conversation so far:\n\na",
    "c",
    "d",
  ]);
  expect(await shortWindowOf(drafts, { maxMessages: 1 })).toEqual(["d"]);
});

test("a compaction with its first kept entry off the path loses nothing", async () => {
  const found = await shortWindowOf([user("a"), compaction("s", "sum", "gone"), user("b")]);
  expect(found).toEqual(["Summary of the conversation so far:\n\nsum", "a", "b"]);
});

test("a cut between a call and its result leaves both out", async () => {
  const drafts = [user("a"), assistantCalls("b", "1"), results("c", ["1"]), reply("d")];
  expect(await shortWindowOf([...drafts, compaction("s", "sum", "c")])).toEqual([
    "Summary of the conversation so far:\n\nsum",
    "d",
  ]);
  expect(await shortWindowOf(drafts, { maxMessages: 2 })).toEqual(["d"]);
  expect(await shortWindowOf(drafts, { maxMessages: 3 })).toEqual(["?1", "!1", "d"]);
});

test("a call without a result gets a placeholder result", async () => {
  const some = [assistantCalls("a", "1", "2", "3"), results("b", ["2"]), user("c")];
  expect(await shortWindowOf(some)).toEqual(["?1 ?2 ?3", "!2 !1 failed !3 failed", "c"]);
  expect(await shortWindowOf([assistantCalls("a", "1")])).toEqual(["?1", "!1 failed"]);
  expect(await shortWindowOf([assistantCalls("a", "1")], { maxMessages: 1 })).toEqual([]);
});

test("a result without its call is left out, and so is a second one", async () => {
  expect(await shortWindowOf([results("a", ["1"]), user("b")])).toEqual(["b"]);
  const twice = [assistantCalls("a", "1"), results("b", ["1", "9"], "first"), results("c", ["1"], "second")];
  expect(await shortWindowOf(twice)).toEqual(["?1", "!1"]);
  expect(await shortWindowOf([assistantCalls("a", "1"), user("b"), results("c", ["1"])])).toEqual([
    "?1",
    "!1 failed",
    "b",
  ]);
});

test("calls and results outside their roles, unknown blocks and emptied messages are left out", async () => {
  const drafts = [
    entry("a", { role: "user", content: [call("1"), ContentBlock.text("hi"), result("2")] }),
    entry("b", { role: "assistant", content: [] }),
    entry("c", { role: "user", content: [result("3")] }),
    entry("d", { role: "user", content: [{ type: "unknown", raw: { type: "smell" } }] }),
  ];
  expect(await shortWindowOf(drafts)).toEqual(["hi"]);
});

test("the summary of an abandoned branch is shown where it was written", async () => {
  const branch = { id: id("b"), at: 0, type: "branch", from: id("x"), summary: "tried x" } as const;
  const found = await shortWindowOf([user("a"), branch, { ...branch, id: id("c"), summary: null }]);
  expect(found).toEqual(["a", "Summary of another branch of this conversation:\n\ntried x"]);
});

const long = "0123456789".repeat(20);
const threeCycles = ["1", "2", "3"].flatMap((each) => [
  assistantCalls(`call${each}`, each),
  results(`result${each}`, [each], long),
]);
const resultTexts = (messages: readonly ChatMessage[]) =>
  messages
    .flatMap(({ content }) => content)
    .flatMap((block) => (block.type === "tool-result" ? block.content : []))
    .map((block) => (block.type === "text" ? block.text : block.type));

test("old tool results are cut to a length, the newest stay whole", async () => {
  const found = await windowOf(threeCycles, { oldResults: { wholeCycles: 1, characters: 10 } });
  const cut = "0123456789\n[190 more characters left out]";
  expect(resultTexts(found)).toEqual([cut, cut, long]);
});

test("old tool results can be replaced by a note", async () => {
  const found = await windowOf(threeCycles, { oldResults: { wholeCycles: 0, characters: 0 } });
  expect(resultTexts(found)).toEqual(Array(3).fill("[200 more characters left out]"));
});

test("trimming never lengthens a result, halves a character or keeps an attachment", async () => {
  const trim = { oldResults: { wholeCycles: 0, characters: 5 } };
  const trimmed = async (...content: readonly ContentBlock[]) =>
    resultTexts(
      await windowOf(
        [assistantCalls("a", "1"), entry("b", { role: "tool", content: [{ ...result("1"), content }] })],
        trim,
      ),
    );
  expect(await trimmed(ContentBlock.text("six ch"))).toEqual(["six ch"]);
  expect(await trimmed(ContentBlock.text("😀".repeat(50)))).toEqual(["😀😀\n[96 more characters left out]"]);
  const picture = { type: "file", mediaType: "image/png", source: { base64: "AAAA" } } as const;
  expect(await trimmed(ContentBlock.text("seen"), picture)).toEqual(["seen\n[attachments left out: 1]"]);
});

test("a trimmed window holds more of the conversation within the same limit", async () => {
  const maxTokens = 200;
  const whole = await windowOf(threeCycles, { maxTokens });
  const trimmed = await windowOf(threeCycles, { maxTokens, oldResults: { wholeCycles: 1, characters: 10 } });
  expect(trimmed.length).toBeGreaterThan(whole.length);
  expect(estimateTokens(trimmed)).toBeLessThanOrEqual(maxTokens);
});

/** A store that counts the entries it hands out. */
function countingStore(): { readonly store: SessionStore; entriesRead: number } {
  const store = memoryStore().sessions;
  const path = store.path.bind(store);
  const counted = { store, entriesRead: 0 };
  store.path = async (...given) => {
    const entries = await path(...given);
    counted.entriesRead += entries.length;
    return entries;
  };
  return counted;
}

/** Returns how many entries a window over a session of some length reads. */
async function readOf(length: number, options: PromptWindowOptions): Promise<number> {
  const counted = countingStore();
  const { store } = counted;
  const session = await talk(store);
  await session.append(Array.from({ length }, (_, index) => user(`e${index}`)));
  counted.entriesRead = 0;
  await getPromptWindow(session, options);
  return counted.entriesRead;
}

test("a window of 100,000 entries reads no more than one of 1,000", async () => {
  for (const options of [{ maxMessages: 100 }, { maxTokens: 1_000 }]) {
    const few = await readOf(1_000, options);
    expect(few).toBeLessThan(500);
    expect(await readOf(100_000, options)).toBe(few);
  }
});

test("without a limit, reading ends at a compaction", async () => {
  const counted = countingStore();
  const session = await talk(counted.store);
  await session.append(Array.from({ length: 1_000 }, (_, index) => user(`e${index}`)));
  await session.append([compaction("s", "sum", "e990")]);
  counted.entriesRead = 0;
  expect(await getPromptWindow(session)).toHaveLength(11);
  expect(counted.entriesRead).toBeLessThan(100);
});

test.each([
  ["cancelled", "cancelled", "The previous turn was stopped: cancelled by the user."],
  ["cancelled", "deadline", "The previous turn was stopped: its deadline passed."],
  ["cancelled", "parent-ended", "The previous turn was stopped: its parent run ended."],
  ["failed", "error", "The previous turn failed: an error ended it."],
  ["failed", "budget.cost", "The previous turn failed: its cost limit was reached."],
  ["failed", "guardrail", "The previous turn failed: a guardrail stopped it."],
  ["cancelled", "of its own accord", "The previous turn was stopped."],
  ["cancelled", "toString", "The previous turn was stopped."],
  ["failed", "answer", "The previous turn failed."],
])("a window shows how a turn ended: %s, %s", async (status, stopReason, text) => {
  const end = { id: id("x"), at: 0, type: "custom", kind: "turn-end", data: { status, stopReason } } as const;
  const drafts = [user("a"), assistantCalls("b", "1"), end, user("c")];
  expect(await shortWindowOf(drafts)).toEqual(["a", "?1", "!1 failed", text, "c"]);
});

test("a window also shows the end of a turn without text", async () => {
  const end = { id: id("x"), at: 0, type: "custom", kind: "turn-end", data: null } as const;
  expect(await shortWindowOf([user("a"), end])).toEqual(["a", "The previous turn was stopped."]);
});

const userWithTokens = (name: string, tokens: number): EntryDraft => ({ ...user(name), tokens });

test("the tokens that an entry states are not measured again", async () => {
  const drafts = [userWithTokens("a", 3), userWithTokens("b", 400), userWithTokens("c", 3)];
  expect(await shortWindowOf(drafts, { maxTokens: 403 })).toEqual(["b", "c"]);
  expect(await shortWindowOf(drafts, { maxTokens: 402 })).toEqual(["c"]);
  // A message that is not shown whole is measured.
  const cut = {
    ...entry("d", { role: "user", content: [result("9"), ContentBlock.text("d")] }),
    tokens: 400,
  };
  expect(await shortWindowOf([cut], { maxTokens: 20 })).toEqual(["d"]);
});
