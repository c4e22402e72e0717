import assert from "node:assert/strict";
import * as fc from "fast-check";
import {
  ChatMessage,
  type CompactionStrategy,
  lastToolGroups,
  pipeline,
  slidingWindow,
  tokenLimit,
  trimResults,
} from "reeve";
import { expect, test } from "vitest";
import { findCut, repairPrompt, compactMessages, type CutItem } from "#agents";
import { estimateTokens } from "#models";
import { call, result } from "./talk.ts";
import { assertPaired } from "./window-rules.ts";
import { propertyRuns } from "../../effort.ts";

const numRuns = propertyRuns(5_000);

const words = fc.integer({ min: 1, max: 60 }).map((count) => "word ".repeat(count));

/** A message of the user, an answer, or calls with their results in one message or one each. */
const group = fc.oneof(
  words.map((text): readonly ChatMessage[] => [ChatMessage.user(text)]),
  words.map((text): readonly ChatMessage[] => [ChatMessage.assistant(text)]),
  fc
    .record({ ids: fc.shuffledSubarray(["1", "2", "3"], { minLength: 1 }), text: words, apart: fc.boolean() })
    .map(({ ids, text, apart }): readonly ChatMessage[] => {
      const results = ids.map((id) => result(id, text));
      const told = apart ? results.map((block) => [block]) : [results];
      const asked: ChatMessage = { role: "assistant", content: ids.map(call) };
      return [asked].concat(told.map((content) => ({ role: "tool", content })));
    }),
);
const conversation = fc
  .array(group, { maxLength: 12 })
  .map((groups) => [ChatMessage.user("go")].concat(groups.flat()));

const simple: fc.Arbitrary<CompactionStrategy> = fc.oneof(
  fc.integer({ min: 1, max: 20 }).map(slidingWindow),
  fc.integer({ min: 1, max: 600 }).map(tokenLimit),
  fc.record({ wholeCycles: fc.nat(4), characters: fc.nat(100) }).map(trimResults),
  fc.nat(4).map(lastToolGroups),
);
/** A strategy that does not care which messages belong together. */
const careless = fc
  .record({ from: fc.nat(20), every: fc.integer({ min: 1, max: 4 }) })
  .map(({ from, every }): CompactionStrategy => ({
    compact: (messages) => messages.slice(from).filter((_, index) => index % every === 0),
  }));
const strategy = fc.oneof(
  simple,
  careless,
  fc.array(fc.oneof(simple, careless), { maxLength: 3 }).map((all) => pipeline(...all)),
);

test(`8.5 every view of a prompt is a valid prompt with the newest message`, () => {
  fc.assert(
    fc.property(conversation, strategy, (messages, chosen) => {
      const view = compactMessages(chosen, messages);
      assertPaired(view);
      assert.ok(view.length > 0);
      assert.deepEqual(view, compactMessages(chosen, messages), "not pure");
    }),
    { numRuns },
  );
});

test("8.5 a built-in view is valid by itself, and keeps its limit", () => {
  fc.assert(
    fc.property(conversation, fc.integer({ min: 1, max: 20 }), (messages, count) => {
      for (const chosen of [slidingWindow(count), tokenLimit(count * 30), lastToolGroups(count)])
        assertPaired(chosen.compact(messages));
      const shown = slidingWindow(count).compact(messages);
      const groups = shown.filter(({ role }) => role !== "tool").length;
      assert.ok(shown.length <= count || groups === 1);
      const limited = tokenLimit(count * 30).compact(messages);
      const isOne = limited.filter(({ role }) => role !== "tool").length === 1;
      assert.ok(estimateTokens(limited) <= count * 30 || isOne);
    }),
    { numRuns },
  );
});

test("8.5 a view that changes nothing is the same list", () => {
  const messages = [ChatMessage.user("one"), ChatMessage.assistant("two")];
  expect(compactMessages(slidingWindow(10), messages)).toBe(messages);
});

const cycle = (id: string): readonly ChatMessage[] => [
  { role: "assistant", content: [call(id)] },
  { role: "tool", content: [result(id, "x".repeat(500))] },
];

test("8.5 old results are shortened, new ones stay whole", () => {
  const messages = [ChatMessage.user("go"), ...cycle("1"), ...cycle("2")];
  const shown = trimResults({ wholeCycles: 1, characters: 10 }).compact(messages);
  expect(shown[2]).toMatchObject({
    content: [{ content: [{ text: "xxxxxxxxxx\n[490 more characters left out]" }] }],
  });
  expect(shown[4]).toBe(messages[4]);
});

test.each([() => slidingWindow(0), () => tokenLimit(1.5), () => lastToolGroups(-1)])(
  "8.5 an invalid limit is refused",
  (make) => {
    expect(make).toThrow(/must be an integer >= /);
  },
);

const cutOptions = fc.record({
  keepRecent: fc.nat(600),
  between: fc.constantFrom("turns" as const, "asked" as const, "cycles" as const),
});

test("8.5 a cut never separates a call from its result, loses nothing, and keeps the newest message", () => {
  fc.assert(
    fc.property(conversation, cutOptions, (messages, options) => {
      const items = messages.map((message): CutItem => {
        return { message, tokens: estimateTokens([message]), id: null, mayLead: true };
      });
      const cut = findCut(items, options);
      const total = estimateTokens(messages);
      if (options.between === "turns" && total <= options.keepRecent) assert.equal(cut, null);
      if (!cut) return;
      const kept = messages.slice(cut.at);
      assert.ok(kept.length > 0 && cut.at > 0);
      assert.deepEqual([...cut.turns, ...cut.part, ...kept], messages);
      assert.deepEqual(repairPrompt(kept), kept);
      assert.deepEqual(repairPrompt([...cut.turns, ...cut.part]), [...cut.turns, ...cut.part]);
      if (cut.part.length > 0) assert.equal(cut.part[0]?.role, "user");
      const isOneGroup = kept.filter(({ role }) => role !== "tool").length === 1;
      const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
      const isTurn = options.between === "asked" && estimateTokens(turn) <= options.keepRecent;
      if (!isOneGroup && !isTurn) assert.ok(estimateTokens(kept) <= options.keepRecent);
    }),
    { numRuns },
  );
});
