import { type ApprovalRecord, type RunStatus, StepId } from "reeve/store";
import type { EventPayloads } from "#kernel";
import { type StopReason, AgentId } from "reeve";
import { expect, test } from "vitest";
import { allAgents, TreeModel, type Facts, type RunFacts, why } from "../../src/view/index.ts";
import { whyLines } from "../../src/cli/views/why-lines.ts";
import { plainPaint } from "../../src/cli/text/paint.ts";
import { widthOf } from "../../src/cli/text/width.ts";
import { approval, askingTeam, Story } from "./story.ts";

const ledger = {
  tree: { maxTokens: null, maxCostMicros: 500_000, maxAgents: 3, liveAgents: 3, lent: null },
};

function explain(story: Story, run: number, more: Partial<RunFacts> = {}): string {
  const { root } = TreeModel.of(story.events);
  if (!root) throw new Error("no root");
  const all = [...allAgents(root)];
  const found = all.find(({ runId }) => runId === story.run(run));
  if (!found) throw new Error("no such run");
  const parent = all.find(({ runId }) => runId === found.parentRunId) ?? null;
  const known = { run: found, parent, facts: new Map(), result: null, ledger, pending: [], ...more };
  const lines = whyLines(why(known, story.now), { width: 80, paint: plainPaint });
  const prose = lines.filter((line) => !line.startsWith("  →"));
  for (const line of prose) expect(widthOf(line)).toBeLessThanOrEqual(80);
  return lines.join("\n");
}

/** The facts of one run from the tree and the engine. */
function facts(story: Story, run: number, said: Partial<Facts>): RunFacts["facts"] {
  return new Map([[story.run(run), { status: "running", blocker: null, ...said }]]);
}

const question: ApprovalRecord = {
  id: approval,
  treeId: new Story().treeId,
  runId: new Story().run(2),
  agentId: AgentId.of("writer"),
  tool: "send_email",
  risk: "high",
  arguments: { to: "ada" },
  hash: "",
  why: "",
  requestedAt: 0,
  expiresAt: new Date(2026, 10, 22, 9).getTime(),
  spentMicros: 0,
  decision: null,
};

test("a run that waits for approval names the tool, the duration and the command", () => {
  expect(explain(askingTeam(), 2, { pending: [question] })).toBe(`\
writer: waiting 2m 5s for approval of send_email
  the policy requires approval of send_email (risk: high).
  to: "ada"
  Without a decision it is denied on 2026-11-22 09:00:00.
  → reeve approve heat-pumps~2:tool:2
  → reeve deny heat-pumps~2:tool:2`);
});

test("a waiting parent names the blocker of its child", () => {
  expect(explain(askingTeam(), 0)).toBe(`\
lead: waiting 2m 6s for writer
  writer: waiting 2m 5s for approval of send_email
  the policy requires approval of send_email (risk: high).
  → reeve approve heat-pumps~2:tool:2
  → reeve deny heat-pumps~2:tool:2`);
});

test("a queued run shows the number of slots, and the run that will yield", () => {
  const story = new Story().starts(0, "lead");
  story.tell(0, "spawn.queued", {
    child: story.run(1),
    childAgent: AgentId.of("writer"),
    victim: story.run(0),
  });
  expect(explain(story.advance(4_000), 1)).toBe(`\
writer: queued 4.0s for a slot: 3 of 3 agents are alive
  heat-pumps~0 will give up its slot for it before its next step.
  Its priority is normal. The highest priority goes first, then the oldest run.
  → reeve reprioritize heat-pumps~1 high`);
});

test("a preempted run names the run that took its slot", () => {
  const story = new Story().starts(0, "lead").starts(1, "researcher", { parent: 0, priority: "low" });
  story.tell(0, "spawn.queued", {
    child: story.run(2),
    childAgent: AgentId.of("writer"),
    victim: story.run(1),
  });
  story.tell(1, "run.paused", { cause: "preempted" });
  expect(explain(story.advance(60_000), 1)).toMatch(
    /^researcher: preempted 1m 0s ago: heat-pumps~2 took its slot;/,
  );
});

test("a held run is reported as held, even before its next step", () => {
  const story = new Story().starts(0, "lead").asks(0, "a1", {});
  expect(explain(story, 0, { facts: facts(story, 0, { status: "paused" }) })).toMatch(
    /^lead: pausing \(stops before its next step\)\n  → reeve resume heat-pumps~0$/,
  );
  story.tell(0, "run.paused", { cause: "held" });
  expect(explain(story, 0)).toMatch(/^lead: paused by a person 0\.0s ago;/);
});

test("a run without a worker is reported", () => {
  const story = new Story().starts(0, "lead");
  const spawn = { child: story.run(1), childAgent: AgentId.of("writer"), priority: "normal" } as const;
  story.tell(0, "spawn.admitted", spawn).advance(9_000);
  expect(explain(story, 1)).toMatch(/^writer: accepted 9\.0s ago, not started: no worker/);
});

test("a working run reports that it waits for nothing", () => {
  const story = new Story().starts(0, "lead").asks(0, "a1", {}).advance(90_000);
  expect(explain(story, 0)).toMatch(/^lead: not blocked, calling .* for 1m 30s\n  If its worker has died/);
});

test("a run between two attempts shows the time of the next one, and the error", () => {
  const story = new Story().starts(0, "lead");
  const error = { code: "model", kind: "overloaded", message: "try later" };
  story.tell(0, "retry.start", { retry: 2, delayMs: 8_000, error }).advance(3_000);
  expect(explain(story, 0)).toBe(`\
lead: retrying its model call in 5.0s after overloaded
  try later
  → reeve watch heat-pumps`);
});

const denied = { dimension: "cost", limit: 500_000, used: 498_000 } as const;

test("a call that waits for budget shows the holder of the budget, until it begins", () => {
  const story = new Story().starts(0, "lead");
  const step = StepId.of(story.run(0), "model", 1);
  story.waitsForBudget(0, 3, step).advance(2_000);
  expect(explain(story, 0)).toContain("lead: waiting 2.0s for budget: 3 calls in flight hold $0.27 of $0.30");
  story.tell(0, "model.start", { model: "claude-sonnet-4-5", step }, "a1");
  expect(explain(story, 0)).toContain("lead: not blocked, calling claude-sonnet-4-5");
});

test("a call that no call in flight can make room for says that it needs a top-up", () => {
  const story = new Story().starts(0, "lead").waitsForBudget(0, 0);
  expect(explain(story, 0)).toMatch(
    /the limit of \$0\.30 has no room for this call, so\nit needs a top-up\n/,
  );
  expect(explain(story, 0)).toContain("→ reeve top-up heat-pumps --cost <more>");
});

test("a call that has waited for calls in flight says that it needs a top-up once they have ended", () => {
  const story = new Story().starts(0, "lead").waitsForBudget(0, 3).advance(2_000).waitsForBudget(0, 0);
  expect(explain(story, 0)).not.toContain("in flight");
  expect(explain(story, 0)).toContain("→ reeve top-up heat-pumps --cost <more>");
});

test("a budget stop names the dimension, the owner of the limit, and the amounts", () => {
  const story = new Story().starts(0, "lead").asks(0, "a1", { cost: 498_000 }).denies(0, denied);
  story.ends(0, { status: "landed", stopReason: "budget.cost", costMicros: 499_000 });
  expect(explain(story, 0)).toBe(`\
lead landed: the tree's limit is $0.50, $0.498 is used, and the next call does
not fit.
  It took 2.4s, made 1 model call and cost $0.499000 with its children.
  It landed: a last call without tools returned the work so far.
  → reeve run lead "..." --max-cost <more than 0.5>
  → agent({ maxOutputTokens: <less> }) # a call reserves its maximum output`);
});

test.each([
  ["landed", "budget.turns", {}, "landed: its turns budget does not allow another call."],
  [
    "failed",
    "budget.agents",
    { code: "budget-exhausted", limit: 3, reason: "no-lower-priority" },
    "all 3 slots of the tree were taken, and no live run has a lower\npriority.",
  ],
  ["cancelled", "deadline", undefined, "was stopped: its deadline passed after 2.4s."],
  [
    "cancelled",
    "parent-ended",
    undefined,
    "was stopped: its parent, lead, ended first (completed: answered).",
  ],
  [
    "failed",
    "error",
    { code: "model", kind: "billing" },
    "the provider's account has no money or quota left.",
  ],
  ["failed", "error", { code: "key-destroyed" }, "its key was destroyed, so its content cannot be read."],
  [
    "failed",
    "error",
    { code: "incompatible-version", agent: "writer", wanted: "2", present: "3" },
    "it needs version 2 of writer, and the worker has 3.",
  ],
  ["failed", "terminated", undefined, "middleware stopped it."],
] as const satisfies readonly (readonly [RunStatus, StopReason, object | undefined, string])[])(
  "%s by %s is explained as text",
  (status, stopReason, error, words) => {
    const story = new Story().starts(0, "lead").starts(1, "writer", { parent: 0 }).ends(0, { costMicros: 0 });
    const end: Partial<EventPayloads["run.end"]> = error && "code" in error ? { error } : {};
    story.ends(1, { status, stopReason, costMicros: 0, ...end });
    expect(explain(story, 1).replace(/^writer (failed: )?/, "")).toContain(words);
  },
);

test("a cancel gives its reason, a guardrail its name", () => {
  const story = new Story().starts(0, "lead").starts(1, "writer", { parent: 0 });
  story.tell(0, "run.cancelling", { reason: "wrong pump" });
  story.ends(0, { status: "cancelled", stopReason: "cancelled", costMicros: 0 });
  story.tell(1, "guardrail.trip", { guardrail: "loop", reason: "the same call 5 times", decision: "halt" });
  story.ends(1, { status: "failed", stopReason: "guardrail", costMicros: 0 });
  expect(explain(story, 0)).toMatch(/^lead was cancelled: reason "wrong pump"\./);
  expect(explain(story, 1)).toMatch(/^writer failed: the guardrail loop tripped \(the same call 5 times\)\./);
});

test("lost calls and erased content are reported", () => {
  const story = new Story().starts(0, "lead");
  for (const call of ["a1", "a2", "a3"]) story.asks(0, call, { reserve: 1_000 });
  story.ends(0, {
    status: "failed",
    stopReason: "error",
    costMicros: 3_000,
    error: { code: "foreign", message: "worker gone" },
  });
  const result = {
    treeId: story.treeId,
    runId: story.run(0),
    status: "failed",
    stopReason: "error",
    output: null,
  } as const;
  const more = {
    result: {
      ...result,
      usage: { input: 0, output: 0 },
      costMicros: 0,
      inDoubtMicros: 0,
      erased: true as const,
    },
  };
  const words = explain(story, 0, more);
  expect(words).toContain("3 model calls were lost with their workers");
  expect(words.replaceAll(/\s+/g, " ")).toContain("the key of its tree was destroyed");
  expect(words).toContain("worker gone");
});

/** Returns the explanation of a model call that failed because of its key. */
function refusedKey(message: string): string {
  const error = { code: "model", kind: "auth", message };
  const end = { status: "failed", stopReason: "error", costMicros: 0, error } as const;
  return explain(new Story().starts(0, "lead").ends(0, end), 0);
}

test("a refused key and a missing key have different errors", () => {
  const advice = '  → set the key where the worker runs; `reeve dev` reads .env\n  → reeve run lead "..."';
  expect(refusedKey("auth (401): invalid x-api-key")).toMatch(
    /^lead failed: the provider does not accept the key\.\n/,
  );
  const missing = refusedKey("auth: Anthropic API key is missing.");
  expect(missing).toMatch(/^lead failed: there is no key for the provider\.\n/);
  expect(missing).toContain(advice);
});

test("an error of a program's code is shown with its file and line", () => {
  const diagnostic = {
    source: "agent lead",
    name: "TypeError",
    message: "Cannot read properties of null (reading 'x')",
    frames: ["run (file:///app/agents.ts:12:9)", "async start (file:///app/main.ts:3:1)"],
  };
  const error = { code: "foreign", kind: "TypeError", message: diagnostic.message };
  const end = { status: "failed", stopReason: "error", error, costMicros: 0 } as const;
  const failed = new Story().starts(0, "lead").ends(0, { ...end, diagnostic });
  expect(explain(failed, 0)).toContain(
    "lead failed: agent lead threw TypeError: Cannot read properties of null (reading\n'x') at /app/agents.ts:12:9.",
  );
  const broken = { ...diagnostic, source: "tool search", frames: ["file:///app/tools.ts:7:3"] };
  const tool = { tool: "search", callId: "c", status: "error", durationMs: 1, diagnostic: broken } as const;
  const went = new Story().starts(0, "lead").tell(0, "tool.end", tool).ends(0, { costMicros: 0 });
  expect(explain(went, 0).replaceAll(/\n +/g, " ")).toContain(
    "tool search threw TypeError: Cannot read properties of null (reading 'x') at /app/tools.ts:7:3.",
  );
});
