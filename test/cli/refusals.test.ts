import type { ErrorData } from "reeve/engine";
import type { EventPayloads } from "#kernel";
import { expect, test } from "vitest";
import { allAgents, TreeModel, fromEvents, why } from "../../src/view/index.ts";
import { whyLines } from "../../src/cli/views/why-lines.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { eventLine } from "../../src/cli/live/event-line.ts";
import { Story } from "./story.ts";

interface Case {
  readonly story: Story;
  /** Default the root. */
  readonly run?: number;
}

const lead = (): Story => new Story().starts(0, "lead");

/** Returns the output of `reeve why`, from the events alone. */
function explainRun({ story, run = 0 }: Case): string {
  const { root } = TreeModel.of(story.events);
  const all = root ? [...allAgents(root)] : [];
  const found = all.find(({ runId }) => runId === story.run(run));
  if (!found) throw new Error("no such run");
  const parent = all.find(({ runId }) => runId === found.parentRunId) ?? null;
  return whyLines(why(fromEvents(found, parent), story.now), { width: 80, paint: plainPaint }).join("\n");
}

/** A root that a limit of 10 cents stopped. */
const refusedStory = (met: Partial<EventPayloads["budget.denied"]>, error?: ErrorData): Case => ({
  story: lead()
    .denies(0, { dimension: "cost", limit: 100_000, used: 99_000, ...met })
    .ends(0, { status: "failed", stopReason: "budget.cost", costMicros: 99_000, ...(error && { error }) }),
});

/** A root whose deadline passed while a call waited for budget. */
const timedOutStory = (met: Partial<EventPayloads["budget.denied"]>): Case => ({
  story: lead()
    .denies(0, { dimension: "cost", limit: 100_000, used: 95_000, reason: "wait-timed-out", ...met })
    .ends(0, { status: "cancelled", stopReason: "deadline", costMicros: 5_000 }),
});

const limits: Readonly<Record<string, Case>> = {
  "of its tenant": refusedStory({ account: "tenant" }),
  "of its user": refusedStory({ account: "user" }),
  "of its agent": refusedStory({ account: "run" }),
  "of its lead": {
    story: lead()
      .starts(1, "writer", { parent: 0 })
      .denies(1, { dimension: "cost", account: "subtree", limit: 100_000, used: 99_000 })
      .ends(1, { status: "landed", stopReason: "budget.cost", costMicros: 99_000 }),
    run: 1,
  },
  "of turns of its agent": {
    story: lead()
      .starts(1, "writer", { parent: 0 })
      .denies(1, { dimension: "turns", account: "run", limit: 5, used: 5 })
      .ends(1, { status: "landed", stopReason: "budget.turns", costMicros: 99_000 }),
    run: 1,
  },
  "with calls in flight and in doubt": refusedStory({ reserved: 20_000, inDoubt: 3_000 }),
  "that is exceeded": refusedStory({ reason: "exceeded", used: 120_000 }),
  "and other trees that hold it": refusedStory({
    account: "tenant",
    reason: "wait-timed-out",
    used: 99_000,
    reserved: 60_000,
  }),
  "and a model without a price": refusedStory({ reason: "unpriced", used: 0 }),
  "and a call of unknown size": refusedStory({ reason: "unbounded", used: 0 }),
  "and an option that says how to allow the call": refusedStory(
    { reason: "unbounded", used: 0 },
    {
      code: "budget-exhausted",
      remedy: 'allow it with languageModel(model, { allowOptions: ["openai.n"] })',
    },
  ),
  "that a call waited for until the deadline": timedOutStory({ reserved: 90_000 }),
  "that no top-up raised until the deadline": timedOutStory({}),
};

test.each(Object.entries(limits))("why explains a limit %s", (_whose, given) => {
  const text = explainRun(given);
  expect(text).toMatch(/\n {2}→ \S/);
  expect(text).not.toMatch(/undefined|null|NaN|\[object/);
  expect(text).toMatchSnapshot();
});

test("a refusal is shown after a landing call, and removed after a top-up", () => {
  const story = lead().denies(0, { dimension: "cost", limit: 100_000, used: 99_000 });
  story.asks(0, "a1", { cost: 500 });
  const end = { status: "landed", stopReason: "budget.cost", costMicros: 99_500 } as const;
  expect(explainRun({ story: story.ends(0, end) })).toContain("the tree's limit is $0.10");
  const raised = lead().denies(0, { dimension: "cost", limit: 100_000, used: 99_000 });
  raised.tell(0, "budget.topped-up", { tokens: 0, costMicros: 50_000, turns: 0 });
  expect(explainRun({ story: raised.ends(0, end) })).not.toContain("$0.10");
});

test("the log of a run names the limit that refuses a call", () => {
  const [refusal] = lead().denies(0, { dimension: "tokens", limit: 9_000, used: 8_990 }).events.slice(-1);
  expect(refusal && eventLine(refusal)).toBe(
    "lead: call denied: the tree's limit is 9,000 tokens, 8,990 tokens are used, and the next call does not fit",
  );
});
