import { AgentId, type StopReason } from "reeve";
import { type ErrorData, type Blocker } from "reeve/engine";
import { keysOf, type ModelErrorKind } from "#kernel";
import type { RunStatus } from "reeve/store";
import { expect, test } from "vitest";
import {
  type Activity,
  allAgents,
  TreeModel,
  denials,
  type RunFacts,
  why,
  whyNotBegun,
  whyUnanswered,
} from "../../src/view/index.ts";
import { whyLines } from "../../src/cli/views/why-lines.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { approval, Story } from "./story.ts";

const tree = { maxAgents: 3, liveAgents: 3 };

interface Case {
  readonly story: Story;
  /** Default the root. */
  readonly run?: number;
  readonly known?: Partial<RunFacts>;
  /** As reported by the tree and the engine. Default: as in the events. */
  readonly status?: RunStatus;
  readonly blocker?: Blocker;
}

function explainCase({ story, run = 0, known = {}, status, blocker }: Case): string {
  const { root } = TreeModel.of(story.events);
  if (!root) throw new Error("no root");
  const all = [...allAgents(root)];
  const found = all.find(({ runId }) => runId === story.run(run));
  if (!found) throw new Error("no such run");
  const parent = all.find(({ runId }) => runId === found.parentRunId) ?? null;
  const said = { status: status ?? found.status, blocker: blocker ?? null };
  const facts = new Map([[found.runId, said]]);
  const everything = { run: found, parent, facts, result: null, ledger: { tree }, pending: [], ...known };
  return whyLines(why(everything, story.now), { width: 80, paint: plainPaint }).join("\n");
}

/** Asserts that the text states the problem and a command. */
function expectHelpful(text: string): void {
  const [answer = ""] = text.split("\n");
  expect(answer).toMatch(/^\S.{15,}/);
  expect(text).toMatch(/\n {2}→ \S/);
  expect(text).not.toMatch(/undefined|null|NaN|\[object/);
}

const lead = (): Story => new Story().starts(0, "lead");
const writer = { childAgent: AgentId.of("writer") } as const;

const waits: Readonly<Record<Exclude<Activity["kind"], "ended">, Case>> = {
  starting: {
    story: lead().tell(0, "spawn.admitted", { ...writer, child: lead().run(1), priority: "normal" }),
    run: 1,
  },
  queued: {
    story: lead().tell(0, "spawn.queued", { ...writer, child: lead().run(1), victim: null }),
    run: 1,
  },
  model: { story: lead().asks(0, "a", {}).advance(90_000) },
  budget: { story: lead().waitsForBudget(0, 3).advance(3_000) },
  tool: { story: lead().tell(0, "tool.start", { tool: "fetch", callId: "c" }, "t").advance(3_000) },
  children: {
    story: lead()
      .tell(0, "tool.start", { tool: "ask_writer", callId: "c" })
      .starts(1, "writer", { parent: 0 })
      .asks(1, "b", {})
      .advance(3_000),
  },
  approval: {
    story: lead()
      .tell(0, "approval.requested", { approvalId: approval, tool: "publish", why: "its risk is high" })
      .advance(3_000),
  },
  retry: {
    story: lead().tell(0, "retry.start", {
      retry: 1,
      delayMs: 4_000,
      error: { code: "model", kind: "rate-limit", message: "slow down" },
    }),
  },
  paused: { story: lead().tell(0, "run.paused", { cause: "held" }).advance(3_000) },
  cancelling: { story: lead().tell(0, "run.cancelling", { reason: "user" }).advance(3_000) },
  between: { story: lead().advance(3_000) },
};

const moreWaits: Readonly<Record<string, Case>> = {
  "is to pause": { story: lead().asks(0, "a", {}), status: "paused" },
  "paused with its lead": {
    story: lead()
      .starts(1, "writer", { parent: 0 })
      .tell(0, "run.paused", { cause: "held" })
      .tell(1, "run.paused", { cause: "held" }),
    run: 1,
  },
  "paused after three lost attempts": {
    story: lead().tell(0, "run.paused", {
      cause: "held",
      reason: "3 attempts of heat-pumps~0:model:1 were lost",
    }),
  },
  preempted: {
    story: lead()
      .starts(1, "researcher", { parent: 0, priority: "low" })
      .tell(0, "spawn.queued", { ...writer, child: lead().run(2), victim: lead().run(1) })
      .tell(1, "run.paused", { cause: "preempted" }),
    run: 1,
  },
  "queued, and another run should yield": {
    story: lead()
      .starts(1, "researcher", { parent: 0, priority: "low" })
      .tell(0, "spawn.queued", { ...writer, child: lead().run(2), victim: lead().run(1) }),
    run: 2,
  },
  "waits for something from outside": { story: lead().advance(3_000), status: "waiting" },
  "waits for a child whose build is gone": {
    story: lead()
      .tell(0, "tool.start", { tool: "ask_writer", callId: "c" })
      .starts(1, "writer", { parent: 0 })
      .advance(3_000),
    known: {
      facts: new Map([
        [
          lead().run(1),
          {
            status: "running",
            blocker: { kind: "unserved", lastError: "error when calling it", build: "b1", retryAt: null },
          },
        ],
      ]),
    },
  },
  "lost calls": {
    story: lead().asks(0, "a", {}).asks(0, "b", { cost: 5 }).tell(0, "cycle.end", { step: 1 }),
  },
};

test.each(Object.entries({ ...waits, ...moreWaits }))("why explains a live run: %s", (_kind, given) => {
  const text = explainCase(given);
  expectHelpful(text);
  expect(text).toMatchSnapshot();
});

const blockers: Readonly<Record<Blocker["kind"], string>> = {
  version: "agent lead is at version 2 here; the run began with 1",
  diverged: "replay diverged at heat-pumps~0:model:1",
  "too-large": "the result has 99 bytes: at most 10 are possible",
  release: "the tree's state tree has protocol 0: serve the release it was written with",
  unserved: "error trying to connect",
  failing: "TypeError: its text is in the log of the worker",
  killed: "[409] killed",
  stopped: "",
};

test.each(keysOf(blockers))("why explains a blocked run: %s", (kind) => {
  const story = lead().advance(3_000);
  const retryAt = kind === "version" ? story.now + 4_000 : null;
  const blocker = { kind, lastError: blockers[kind], build: "build-7", retryAt };
  const text = explainCase({ story, status: "waiting", blocker });
  expectHelpful(text);
  expect(text).toMatchSnapshot();
});

const endedCase = (
  stopReason: StopReason,
  status: "completed" | "landed" | "failed" | "cancelled",
  error?: ErrorData,
): Case => ({ story: lead().ends(0, { status, stopReason, costMicros: 499_000, ...(error && { error }) }) });

const deniedCase = (dimension: "cost" | "tokens" | "turns", limit: number, used: number): Case => ({
  story: lead()
    .denies(0, { dimension, limit, used })
    .ends(0, { status: "landed", stopReason: `budget.${dimension}`, costMicros: 499_000 }),
});

const stops: Readonly<Record<StopReason, Case>> = {
  answer: endedCase("answer", "completed"),
  "budget.tokens": deniedCase("tokens", 9_000, 8_990),
  "budget.cost": deniedCase("cost", 500_000, 499_000),
  "budget.turns": deniedCase("turns", 5, 5),
  "budget.agents": endedCase("budget.agents", "failed", {
    code: "budget-exhausted",
    limit: 3,
    reason: "no-lower-priority",
  }),
  deadline: endedCase("deadline", "cancelled"),
  cancelled: {
    story: lead()
      .tell(0, "run.cancelling", { reason: "wrong pump" })
      .ends(0, { status: "cancelled", stopReason: "cancelled", costMicros: 0 }),
  },
  "parent-ended": {
    story: lead()
      .starts(1, "writer", { parent: 0 })
      .ends(0, { costMicros: 0 })
      .ends(1, { status: "cancelled", stopReason: "parent-ended", costMicros: 0 }),
    run: 1,
  },
  guardrail: {
    story: lead()
      .tell(0, "guardrail.trip", { guardrail: "loop", reason: "the same call 5 times", decision: "halt" })
      .ends(0, { status: "failed", stopReason: "guardrail", costMicros: 0 }),
  },
  terminated: endedCase("terminated", "failed", {
    code: "middleware-termination",
    message: "stopped by middleware: not on Sundays",
  }),
  error: endedCase("error", "failed", { code: "foreign", message: "no such table" }),
  exhausted: endedCase("exhausted", "landed"),
};

test.each(Object.entries(stops))("why explains a run stopped by %s", (_reason, given) => {
  const text = explainCase(given);
  expectHelpful(text);
  expect(text).toMatchSnapshot();
});

const modelErrors: Readonly<Record<ModelErrorKind, true>> = {
  "rate-limit": true,
  overloaded: true,
  "server-error": true,
  timeout: true,
  "context-overflow": true,
  unknown: true,
  auth: true,
  "auth-permanent": true,
  billing: true,
  "model-not-found": true,
  "content-blocked": true,
  format: true,
};

const errors: readonly ErrorData[] = [
  ...Object.keys(modelErrors).map((kind) => ({ code: "model", kind })),
  { code: "key-destroyed" },
  { code: "incompatible-version", agent: "writer", wanted: "2", present: "3" },
  { code: "replay-divergence", step: "heat-pumps~0:model:1" },
  { code: "unjournaled-await" },
  { code: "too-large", message: "the result has 99 bytes: at most 10 are possible" },
  { code: "too-many-steps" },
  { code: "nested-step" },
  { code: "ask-failed", outcome: "timedOut" },
  { code: "wait-cycle" },
  { code: "not-found", what: "agent", id: "vendor" },
  { code: "foreign", message: "no such table" },
];

test("every error has its own text", () => {
  const answers = errors.map((error) => {
    const text = explainCase(endedCase("error", "failed", error));
    expectHelpful(text);
    return text.split("\n  It took")[0];
  });
  expect(answers).toMatchSnapshot();
});

test("refused spawns are reported, however the run ended", () => {
  const told = keysOf(denials).map((reason) => {
    const story = lead().tell(0, "spawn.denied", { ...writer, reason });
    return /It could not spawn [^→]*\./.exec(explainCase({ story: story.asks(0, "a", {}) }))?.[0];
  });
  expect(told).toMatchSnapshot();
});

test("why explains a tree that waits for its turn, and one without a worker", () => {
  const { root } = TreeModel.of(lead().asks(0, "a", {}).events);
  if (!root) throw new Error("no root");
  const known = { run: root, parent: null, facts: new Map(), result: null, ledger: null, pending: [] };
  const unanswered = whyUnanswered(root, why(known, lead().now + 60_000));
  for (const reason of [whyNotBegun("heat-pumps~0"), unanswered]) {
    const text = whyLines(reason, { width: 80, paint: plainPaint }).join("\n");
    expectHelpful(text);
    expect(text).toMatchSnapshot();
  }
});
