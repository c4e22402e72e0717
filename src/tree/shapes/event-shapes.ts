import {
  agentEventTypes,
  type AgentEventType,
  type EventPayloads,
  type EventType,
  type NumberedEvent,
} from "#kernel";
import { Shape, type FieldShapes } from "#base";
import {
  agentId,
  approvalId,
  attemptId,
  diagnostic,
  dimension,
  endStatus,
  error,
  json,
  limitMet,
  messageId,
  numberOrNull,
  priority,
  runId,
  stepId,
  stopReason,
  topicId,
  treeId,
  usage,
} from "./parts.ts";

const { boolean, count, number, object, oneOf, open, optional, orNull, text } = Shape;

type Payload<Type extends EventType> = EventPayloads[Type];
type Limits = NonNullable<Payload<"run.start">["limits"]>;
type TreeLimits = NonNullable<Payload<"run.start">["treeLimits"]>;

const denial = oneOf("exhausted", "exceeded", "wait-timed-out", "unpriced", "unbounded");

/** The fields of the events that the tree and the runtime write. */
const payloads: { readonly [Type in Exclude<EventType, AgentEventType>]: FieldShapes<Payload<Type>> } = {
  "run.start": {
    priority,
    parentRunId: orNull(runId),
    traceId: text(),
    caller: optional(text()),
    allowsAll: optional(Shape.true),
    limits: optional(
      object<Limits>({
        maxCostMicros: numberOrNull,
        maxTokens: numberOrNull,
        maxTurns: numberOrNull,
        deadlineAt: numberOrNull,
      }),
    ),
    treeLimits: optional(
      object<TreeLimits>({ maxCostMicros: numberOrNull, maxTokens: numberOrNull, maxAgents: number }),
    ),
    version: optional(text()),
  },
  "run.end": {
    status: endStatus,
    stopReason,
    durationMs: number,
    usage,
    costMicros: number,
    error: optional(error),
    diagnostic: optional(diagnostic),
  },
  "model.start": { model: text(), step: stepId },
  // The usage as the provider reported it, plausible or not.
  "model.end": {
    model: text(),
    usage: Shape.any<Payload<"model.end">["usage"]>(),
    durationMs: number,
    error: optional(error),
  },
  "tool.start": { tool: text(), callId: text(), step: stepId },
  "tool.end": {
    tool: text(),
    callId: text(),
    status: oneOf("ok", "error", "unknown"),
    durationMs: number,
    diagnostic: optional(diagnostic),
  },
  "guardrail.trip": {
    guardrail: text(),
    reason: text(),
    decision: oneOf("allow", "warn", "block", "halt"),
  },
  "handoff.made": { to: agentId, toRun: runId },
  "turn.saved": { leaf: text<Payload<"turn.saved">["leaf"]>() },
  "session.settled": { leaf: orNull(text<Payload<"turn.saved">["leaf"]>()) },
  "retry.start": { retry: number, delayMs: number, error },
  "retry.end": { retry: number, success: boolean },
  "compaction.start": { contextTokens: number },
  "compaction.end": {
    contextTokens: number,
    entryId: orNull(text<Payload<"turn.saved">["leaf"]>()),
  },
  "spawn.admitted": { child: runId, childAgent: agentId, priority },
  "spawn.queued": { child: runId, childAgent: agentId, victim: orNull(runId) },
  "spawn.denied": {
    childAgent: agentId,
    reason: Shape.text<Payload<"spawn.denied">["reason"]>(),
  },
  "run.paused": { cause: oneOf("preempted", "held"), reason: optional(text()) },
  "run.resumed": { cause: oneOf("slot", "spared", "released") },
  "run.reprioritized": { from: priority, to: priority },
  "run.cancelling": { reason: text() },
  "budget.warning": { dimension, limit: number, used: number },
  "budget.reserved": { tokens: number, costMicros: number },
  "budget.settled": {
    tokens: number,
    costMicros: number,
    inDoubt: boolean,
    reconciled: optional(Shape.true),
  },
  "budget.denied": { ...limitMet, reason: denial },
  "budget.waiting": { ...limitMet, inFlight: number, step: stepId },
  "budget.topped-up": { tokens: number, costMicros: number, turns: number },
  "permission.denied": { tool: text(), callId: text(), reason: text() },
  "approval.requested": {
    approvalId,
    asks: optional(Shape.true),
    tool: text(),
    why: text(),
    callId: optional(text()),
  },
  "approval.decided": { approvalId, decision: oneOf("approved", "denied", "edited", "expired"), by: text() },
  "message.sent": { messageId, to: runId },
  "message.dead-lettered": { messageId, reason: text(), attempts: number },
  "progress.emitted": { topic: topicId, data: json },
  "extension.error": { extension: text(), error },
};

/** The fields that every event has. */
const base = {
  v: optional(count),
  eventId: text(),
  treeId,
  runId,
  agent: agentId,
  at: number,
  attempt: orNull(attemptId),
  seq: count,
  type: text(),
};

/** The fields of custom events are arbitrary, because agent code gives them. */
const ofAgent = open<object>({ ...base }).find;

const looks = new Map<string, Shape<unknown>["find"]>([
  ...Object.entries(payloads).map(
    ([type, fields]) => [type, object<object>({ ...fields, ...base }).find] as const,
  ),
  ...agentEventTypes.map((type) => [type, ofAgent] as const),
]);

/** The shape of an event of a tree. */
export const event: Shape<NumberedEvent> = {
  find: (value) => {
    const type: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "type") : null;
    const find = typeof type === "string" ? looks.get(type) : undefined;
    return find ? find(value) : ".type is not a known event type";
  },
};
