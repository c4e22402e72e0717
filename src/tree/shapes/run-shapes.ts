import type { Supervision, TopicId } from "#kernel";
import { Shape } from "#base";
import type { BacklogSize, UnreadItems } from "../state/backlogs.ts";
import type {
  CompactionOrder,
  EndedRecord,
  InboxItem,
  InboxRecord,
  RunRecord,
  SentContent,
  StoredItem,
  TurnPosition,
} from "../state/records.ts";
import { runAccount } from "./ledger-shapes.ts";
import {
  agentId,
  approvalId,
  attemptId,
  backlogSize,
  budget,
  decision,
  diagnostic,
  envelope,
  json,
  labels,
  messageId,
  numberOrNull,
  priority,
  result,
  retention,
  rule,
  runId,
  runIds,
  spawnBudget,
  spoken,
  stepId,
  texts,
  topicId,
  treeId,
} from "./parts.ts";

const { boolean, count, list, map, number, object, oneOf, optional, orNull, taggedUnion, text } = Shape;

const words = object<SentContent>({ text: text(), ...spoken });

type Item<Kind> = Extract<InboxItem, { readonly kind: Kind }>;
type Said = Extract<InboxItem, { readonly kind: "message" | "steer" | "followUp" }>;
type Bare = Extract<InboxItem, { readonly kind: "pause" | "resume" | "abortCall" }>;

const said = object<Said>({ kind: oneOf("message", "steer", "followUp"), envelope });
const bare = object<Bare>({ kind: oneOf("pause", "resume", "abortCall") });

export const item = taggedUnion<StoredItem, "kind">("kind", {
  message: said,
  steer: said,
  followUp: said,
  topic: object<Item<"topic">>({ kind: oneOf("topic"), subscription: text(), envelope }),
  reply: object<Item<"reply">>({ kind: oneOf("reply"), ask: messageId, text: text(), ...spoken }),
  askGoesOn: object<Item<"askGoesOn">>({ kind: oneOf("askGoesOn"), ask: messageId, leftMs: number }),
  ended: object<Item<"ended">>({ kind: oneOf("ended"), run: runId, result }),
  childPaused: object<Item<"childPaused">>({
    kind: oneOf("childPaused"),
    run: runId,
    said: optional(words),
  }),
  childResumed: object<Item<"childResumed">>({ kind: oneOf("childResumed"), run: runId }),
  signal: object<Item<"signal">>({
    kind: oneOf("signal"),
    name: text(),
    data: json,
    labels: optional(labels),
  }),
  approval: object<Item<"approval">>({
    kind: oneOf("approval"),
    approval: approvalId,
    hash: text(),
    decision,
  }),
  pause: bare,
  resume: bare,
  abortCall: bare,
  budget: object<Item<"budget">>({ kind: oneOf("budget"), step: stepId }),
  cancel: object<Item<"cancel">>({ kind: oneOf("cancel"), reason: text() }),
  unread: object<Extract<StoredItem, { kind: "unread" }>>({ kind: oneOf("unread"), topic: topicId }),
});

const inbox = object<InboxRecord>({
  taken: count,
  woken: boolean,
  delivered: count,
  items: list(item),
  characters: count,
  sent: optional(backlogSize),
  first: count,
  last: number,
});

export const turnPlace = object<TurnPosition>({
  isKept: boolean,
  isNamed: boolean,
  after: optional(orNull(text<NonNullable<NonNullable<TurnPosition["after"]>>>())),
  compaction: optional(object<CompactionOrder>({ instructions: orNull(text()) })),
  isCopy: optional(Shape.true),
});

export const supervision = object<Supervision>({
  treeId,
  runId,
  sessionId: text<Supervision["sessionId"]>(),
  rootId: agentId,
  agentId,
  parentId: orNull(agentId),
  parentRunId: orNull(runId),
  depth: count,
  spawnBudget,
  executionBudget: budget,
  retention,
  priority,
});

type ToolList = NonNullable<RunRecord["otherTools"]>[number];
type Remembered = RunRecord["remembered"][number];

export const run = object<RunRecord>({
  agentId,
  version: text(),
  supervision,
  ancestors: runIds,
  budget: orNull(budget),
  firstMessage: orNull(messageId),
  execution: orNull(text()),
  wakesWithItems: boolean,
  continuation: count,
  spawnedAt: number,
  startedAt: numberOrNull,
  account: runAccount,
  inbox,
  backlog: optional(
    object<UnreadItems>({
      inbox: optional(backlogSize),
      topics: optional(map<TopicId, BacklogSize>(backlogSize)),
    }),
  ),
  said: optional(words),
  reported: count,
  crashes: count,
  crashedIn: text(),
  diagnostic: optional(diagnostic),
  watchers: runIds,
  tools: orNull(texts),
  otherTools: optional(list(object<ToolList>({ type: text(), tools: texts }))),
  rules: list(rule),
  turn: optional(turnPlace),
  asking: list(approvalId),
  remembered: list(object<Remembered>({ tool: text(), by: text(), ruleOfTwo: optional(Shape.true) })),
  cancel: numberOrNull,
  spentAfter: number,
  pausedFor: orNull(text()),
  denied: list(attemptId),
  undeliveredEvents: orNull(list(count)),
});

export const ended = object<EndedRecord>({
  agentId,
  parentRunId: orNull(runId),
  startedAt: number,
  retention,
  result,
  endedAt: number,
  maxCostMicros: optional(number),
  cancel: numberOrNull,
  spentAfter: number,
});
