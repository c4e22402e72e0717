import type { AgentId, ApprovalRecord, JsonObject, Priority, RunId, RunResult } from "#kernel";
import { Shape } from "#base";
import type { BacklogSize } from "../state/backlogs.ts";
import type {
  AsksRecord,
  CancelRecord,
  LateAsksRecord,
  TopicRecord,
  TreeInfo,
  TreeRecord,
  TreeScope,
} from "../state/records.ts";
import { treeState } from "./ledger-shapes.ts";
import {
  address,
  agentId,
  approvalId,
  backlogSize,
  decision,
  endStatus,
  error,
  json,
  messageId,
  numberOrNull,
  price,
  priority,
  runId,
  runIds,
  sources,
  stopReason,
  treeId,
} from "./parts.ts";
import { turnPlace } from "./run-shapes.ts";

const { boolean, count, list, map, number, object, oneOf, optional, orNull, text } = Shape;

export const scope = object<TreeScope>({
  tenantId: orNull(text<NonNullable<TreeScope["tenantId"]>>()),
  userId: orNull(text<NonNullable<TreeScope["userId"]>>()),
  sessionId: text<TreeScope["sessionId"]>(),
  channel: orNull(text()),
  metadata: Shape.anyObject<JsonObject>(),
});

export const info = object<TreeInfo>({
  treeId,
  inputHash: text(),
  secret: orNull(text()),
  scope,
  traceId: text(),
  caller: orNull(text()),
  prices: map(price),
  yieldTimeoutMs: number,
  cancelGraceMs: number,
  maxRestarts: number,
  session: orNull(address),
  turn: orNull(turnPlace),
  name: optional(text()),
});

export const tree = object<Omit<TreeRecord, keyof TreeInfo>>({
  status: oneOf("open", "closed"),
  ledger: treeState,
  clock: number,
  timer: numberOrNull,
  nextRun: count,
  seq: count,
  firstEvent: count,
  waits: boolean,
  projection: object<TreeRecord["projection"]>({
    upTo: count,
    asked: boolean,
    at: optional(number),
    batches: optional(count),
  }),
  approvals: count,
  cancelling: map<number, number>(count),
  hasErasable: boolean,
  erased: boolean,
  wholeErasure: optional(oneOf("ordered", "done")),
  hasContent: optional(Shape.true),
  hasActed: optional(Shape.true),
  isCompacting: optional(boolean),
  silent: optional(runIds),
  hasUntold: optional(Shape.true),
  unsaved: optional(object<Pick<RunResult, "status" | "stopReason">>({ status: endStatus, stopReason })),
});

/** An approval, as the tree stores it. */
export const approval = object<ApprovalRecord & { readonly operationId: string | null }>({
  id: approvalId,
  treeId,
  runId,
  agentId,
  tool: text(),
  risk: oneOf("safe", "high", "critical"),
  arguments: json,
  hash: text(),
  why: text(),
  asks: optional(Shape.true),
  ruleOfTwo: optional(Shape.true),
  sources: optional(sources),
  treeName: optional(text()),
  parents: optional(list(object<{ readonly runId: RunId; readonly agentId: AgentId }>({ runId, agentId }))),
  requestedAt: number,
  expiresAt: number,
  spentMicros: number,
  decision: orNull(decision),
  operationId: orNull(text()),
});

/** The erasable content of a run's result. */
export const content = object<Pick<RunResult, "output" | "error">>({ output: json, error: optional(error) });

export const cancel = object<CancelRecord>({ reason: text(), at: number, runs: runIds });

export const asks: Shape<AsksRecord> = list(
  object<AsksRecord[number]>({ id: messageId, to: runId, at: number, idleMs: number }),
);

export const lateAsks: Shape<LateAsksRecord> = list(
  object<LateAsksRecord[number]>({ ask: messageId, from: runId, timeoutMs: number }),
);

const topicRecord = object<TopicRecord>({
  next: count,
  first: count,
  characters: optional(object<NonNullable<TopicRecord["characters"]>>({ next: count, first: count })),
  unread: map<number, number>(count),
  pages: list(count),
});

const subscriptions = list(
  object<{ run: RunId; subscription: string }>({ run: runId, subscription: text() }),
);

/** A topic, or the list of subscriptions that an earlier release stored. */
export const topic: Shape<unknown> = {
  find: (value) => (Array.isArray(value) ? subscriptions.find(value) : topicRecord.find(value)),
};

/** An entry of the list of live runs. */
export const liveEntry = Shape.tuple<readonly [number, number | null, AgentId, Priority | null]>(
  count,
  orNull(count),
  agentId,
  orNull(priority),
);

const idleEntry = Shape.tuple<readonly [number, string, number | null]>(count, text(), orNull(count));
const behindEntry = Shape.tuple<readonly [number, string, number | null, BacklogSize]>(
  count,
  text(),
  orNull(count),
  backlogSize,
);

/** A subscription of a page. */
export const subscriptionEntry: Shape<unknown> = {
  find: (value) => (Array.isArray(value) && value.length > 3 ? behindEntry : idleEntry).find(value),
};
