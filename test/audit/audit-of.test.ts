import { expect, test } from "vitest";
import {
  AgentId,
  ApprovalId,
  AttemptId,
  EventId,
  type EventPayloads,
  type EventType,
  Json,
  type NumberedEvent,
  RunId,
  StepId,
  TreeId,
} from "#kernel";
import { auditOf } from "../../src/audit/audit-of.ts";

const treeId = TreeId.of("books");
const runId = RunId.root(treeId);
const child = RunId.of(treeId, 1);
const agent = AgentId.of("lead");
const childAgent = AgentId.of("writer");
const step = StepId.of(runId, "tool", 1);
const approvalId = ApprovalId.of(step, 0);
const words = "mother's maiden name";

function eventOf<Type extends EventType>(type: Type, payload: EventPayloads[Type]): NumberedEvent {
  const base = { seq: 7, eventId: EventId.of(runId, "7"), treeId, runId, agent, at: 5 };
  return Json.as(Json.of({ ...base, attempt: AttemptId.of("a1"), type, ...payload }));
}

const call = { tool: "mail", callId: "c1" };
const amounts = { tokens: 3, costMicros: 4 };
const limit = { dimension: "tokens", limit: 5, used: 4 } as const;
const refused = { reason: "exhausted", account: "tree" } as const;

const start = { priority: "normal", parentRunId: null, traceId: "t" } as const;

const decisions: readonly (readonly [NumberedEvent, string, object])[] = [
  [eventOf("run.start", { ...start, allowsAll: true }), "permission", { decision: "allow-all" }],
  [eventOf("tool.start", { ...call, step }), "permission", { decision: "allowed", ...call }],
  [eventOf("permission.denied", { ...call, reason: words }), "permission", { decision: "denied", ...call }],
  [
    eventOf("approval.requested", { approvalId, tool: "mail", why: words }),
    "approval",
    { decision: "requested", approvalId, tool: "mail" },
  ],
  [
    eventOf("approval.decided", { approvalId, decision: "edited", by: "ada" }),
    "approval",
    { decision: "edited", approvalId, by: "ada" },
  ],
  [
    eventOf("guardrail.trip", { guardrail: "manners", reason: words, decision: "halt" }),
    "guardrail",
    { decision: "halt", guardrail: "manners" },
  ],
  [
    eventOf("spawn.admitted", { child, childAgent, priority: "high" }),
    "spawn",
    { decision: "admitted", child, childAgent, priority: "high" },
  ],
  [
    eventOf("spawn.queued", { child, childAgent, victim: null }),
    "spawn",
    { decision: "queued", child, childAgent, victim: null },
  ],
  [
    eventOf("spawn.denied", { childAgent, reason: "full" }),
    "spawn",
    { decision: "denied", childAgent, reason: "full" },
  ],
  [
    eventOf("budget.settled", { ...amounts, inDoubt: true }),
    "spend",
    { decision: "settled", ...amounts, inDoubt: true },
  ],
  [
    eventOf("budget.settled", { ...amounts, inDoubt: false, reconciled: true }),
    "reconcile",
    { decision: "settled", ...amounts, inDoubt: false },
  ],
  [
    eventOf("budget.denied", { ...limit, ...refused, owner: null, reserved: 0, inDoubt: 0 }),
    "spend",
    { decision: "denied", ...limit, ...refused },
  ],
  [
    eventOf("budget.topped-up", { ...amounts, turns: 1 }),
    "spend",
    { decision: "topped-up", ...amounts, turns: 1 },
  ],
  [eventOf("run.cancelling", { reason: words }), "cancel", { decision: "cancelled" }],
  [eventOf("run.cancelling", { reason: "deadline" }), "cancel", { decision: "deadline" }],
];

test.each(decisions)("a decision is recorded without content: $type", (event, kind, data) => {
  const note = auditOf(event);
  expect(note).toEqual({
    at: 5,
    kind,
    source: "books/7",
    data: { ...data, run: runId, agent, attempt: "a1" },
  });
  expect(JSON.stringify(note)).not.toContain(words);
});

test("an event without a decision is not recorded", () => {
  expect(auditOf(eventOf("tool.end", { ...call, status: "ok", durationMs: 1 }))).toBeNull();
  expect(auditOf(eventOf("progress.emitted", { topic: Json.as("t"), data: words }))).toBeNull();
});
