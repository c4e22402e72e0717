import assert from "node:assert/strict";
import * as fc from "fast-check";
import { ChatMessage, RunId, type StopReason, TreeId } from "reeve";
import {
  type EntryDraft,
  EntryId,
  getPromptWindow,
  type PromptWindowOptions,
  type Session,
} from "reeve/store";
import { test } from "vitest";
import { estimateTokens } from "#models";
import { call, result, abbreviate, talk } from "./talk.ts";
import { assertPaired } from "./window-rules.ts";
import { propertyRuns } from "../../effort.ts";

const numRuns = propertyRuns(5_000);

function answers(order: readonly string[], apart: boolean): readonly ChatMessage[] {
  const messages = apart ? order.map((each) => [each]) : [order];
  return messages.map((ids) => ({ role: "tool", content: ids.map((each) => result(each)) }));
}

/** Text of the user, and of no one else: turns are counted by it. */
const userText = "go";

/** One cycle: some calls and their results in any order, in one message or one each; or a text. */
const cycle = fc.oneof(
  fc
    .string()
    .filter((text) => text !== userText)
    .map((text): readonly ChatMessage[] => [ChatMessage.assistant(text || "well")]),
  fc
    .tuple(fc.shuffledSubarray(["1", "2", "3"], { minLength: 1 }), fc.boolean())
    .chain(([calls, apart]) =>
      fc
        .shuffledSubarray(calls, { minLength: calls.length })
        .map((order): readonly ChatMessage[] =>
          [{ role: "assistant", content: calls.map((each) => call(each)) } as ChatMessage].concat(
            answers(order, apart),
          ),
        ),
    ),
);
const turn = fc.record({
  messages: fc
    .array(cycle, { maxLength: 4 })
    .map((cycles): readonly ChatMessage[] => [ChatMessage.user(userText)].concat(cycles.flat())),
  /** Number of entries written before it ended. */
  cut: fc.nat(12),
  /** The end of the turn. Null: no entry records it. */
  end: fc.option(fc.constantFrom<StopReason>("cancelled", "deadline", "error", "parent-ended")),
  adopted: fc.boolean(),
});
const limits = fc.record({ maxMessages: fc.nat(12), maxTokens: fc.nat(300) }, { requiredKeys: [] });

type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

/** Writes a part of a turn on a branch, then adopts or drops it. */
async function write(
  session: Session,
  { messages, cut, end, adopted }: Turn,
  { number, isMeasured }: { readonly number: number; readonly isMeasured: boolean },
): Promise<void> {
  const run = RunId.root(TreeId.of(`t${number}`));
  const said = messages.slice(0, cut + 1).map((message, n): EntryDraft => {
    const draft = { id: EntryId.ofRun(run, n), at: n, type: "message", message } as const;
    return isMeasured ? Object.assign(draft, { tokens: estimateTokens([message]) }) : draft;
  });
  const data = { status: "cancelled", stopReason: end };
  const id = EntryId.of(`${run}.end`);
  const closing: readonly EntryDraft[] = end ? [{ id, at: 99, type: "custom", kind: "turn-end", data }] : [];
  const follows = await session.leaf();
  const drafts = [...said, ...closing];
  await session.append(drafts, { branch: run, after: follows });
  const last = drafts.at(-1)?.id;
  if (adopted && last) assert.equal(await session.adopt(run, { last, follows }), "adopted");
  else await session.settle(run, { end: null });
}

test(`every prefix of ${numRuns} conversations with interrupted turns is a valid prompt`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 4 }), limits, async (turns, options) => {
      const [session, measured] = [await talk(), await talk()];
      for (const [number, each] of turns.entries()) {
        await write(session, each, { number, isMeasured: false });
        await write(measured, each, { number, isMeasured: true });
        for (const limited of [{}, options] satisfies PromptWindowOptions[]) {
          const window = await getPromptWindow(session, limited);
          assertPaired(window);
          assert.deepEqual(await getPromptWindow(measured, limited), window);
        }
      }
      const shown = (await getPromptWindow(session)).map(abbreviate);
      const ended = turns.filter(({ adopted, end }) => adopted && end);
      assert.equal(shown.filter((text) => text.startsWith("The previous turn")).length, ended.length);
      const begun = turns.filter(({ adopted }) => adopted);
      assert.equal(shown.filter((text) => text === userText).length, begun.length);
    }),
    { numRuns },
  );
});
