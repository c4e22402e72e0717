import {
  RunId,
  StopReason,
  type AgentId,
  type ApprovalDecision,
  type ApprovalId,
  type AttemptId,
  type Diagnostic,
  type EndStatus,
  type Envelope,
  type ErrorData,
  type ExecutionBudget,
  type FileBlock,
  type HistoryRetention,
  type Json,
  type Labels,
  type LabelSource,
  type LimitMet,
  type MessageId,
  type ObjectAddress,
  type PermissionRule,
  type Price,
  type Priority,
  type RunResult,
  type Sender,
  type SpawnBudget,
  type StepId,
  type TopicId,
  type TreeId,
  type Usage,
  retentions,
} from "#kernel";
import { Shape } from "#base";
import type { BacklogSize } from "../state/backlogs.ts";
import type { TopicMessage } from "../state/records.ts";

/*
 * Shapes of values that several records share. Values that a program supplies (budgets, prices, rules, files, usage of
 * its own models) may have further fields, which are never read.
 */

const { any, anyObject, count, list, number, object, oneOf, open, optional, orNull, taggedUnion, text } =
  Shape;

export const json = any<Json>();
export const agentId = text<AgentId>();
export const approvalId = text<ApprovalId>();
export const attemptId = text<AttemptId>();
export const messageId = text<MessageId>();
export const stepId = text<StepId>();
export const topicId = text<TopicId>();
export const treeId = text<TreeId>();
export const runId = Shape.textLike<RunId>("a run id", RunId.is);
export const runIds = list(runId);
export const texts = list(text());
export const numberOrNull = orNull(number);

export const priority: Shape<Priority> = oneOf("background", "low", "normal", "high", "critical");
export const retention: Shape<HistoryRetention> = oneOf(...retentions);
export const endStatus: Shape<EndStatus> = oneOf("completed", "landed", "failed", "cancelled");
export const stopReason = Shape.textLike<StopReason>("a stop reason", (value) =>
  StopReason.all.some((known) => known === value),
);
export const dimension = oneOf("tokens", "cost", "turns", "agents");

/** The other fields depend on the class of the error. */
export const error: Shape<ErrorData> = {
  find: open<Pick<ErrorData, "code" | "message">>({ code: text(), message: optional(text()) }).find,
};

export const usage = open<Usage>({
  input: number,
  output: number,
  cachedInput: optional(number),
  cacheWrite: optional(number),
});

const rates = {
  input: number,
  output: number,
  cachedInput: optional(number),
  cacheWrite: optional(number),
};

export const price = open<Price>({
  ...rates,
  request: optional(number),
  tiers: optional(list(open<NonNullable<Price["tiers"]>[number]>({ ...rates, aboveInputTokens: number }))),
});

export const budget = open<ExecutionBudget>({
  maxTokens: optional(number),
  maxCostUsd: optional(number),
  maxTurns: optional(number),
  deadlineS: optional(number),
  onLimit: optional(oneOf("land", "wait")),
});

export const spawnBudget = object<SpawnBudget>({
  maxAgents: count,
  allowPreempt: Shape.boolean,
  maxTotal: optional(count),
});

export const address = object<ObjectAddress>({ type: text(), key: text() });

const source = object<LabelSource>({
  kind: oneOf("tool", "step", "input", "file"),
  name: text(),
  runId: orNull(runId),
  stepId: orNull(stepId),
  untrusted: Shape.boolean,
  private: Shape.boolean,
});

export const sources = list(source);

export const labels = object<Labels>({
  untrusted: Shape.boolean,
  private: Shape.boolean,
  sources: optional(sources),
});

export const diagnostic = object<Diagnostic>({
  source: text(),
  name: text(),
  message: text(),
  frames: texts,
});

const file = open<FileBlock>({
  type: oneOf("file"),
  mediaType: text(),
  source: anyObject<FileBlock["source"]>(),
  name: optional(text()),
});

/** The fields of a message body between runs. */
export const spoken = {
  data: optional(json),
  files: optional(list(file)),
  labels: optional(labels),
};

const sender = taggedUnion<Sender, "kind">("kind", {
  run: object<Extract<Sender, { kind: "run" }>>({ kind: oneOf("run"), runId, agentId }),
  outside: object<Extract<Sender, { kind: "outside" }>>({ kind: oneOf("outside"), name: text() }),
});

const envelopeFields = {
  id: messageId,
  from: sender,
  text: text(),
  ...spoken,
  askedBy: optional(runId),
  topic: optional(topicId),
  at: number,
};

export const envelope = object<Envelope>(envelopeFields);

export const backlogSize = object<BacklogSize>({ messages: count, characters: count });

export const topicMessage = object<TopicMessage>({ ...envelopeFields, charactersBefore: optional(count) });

/** A text or a list of texts, as in rules. */
const words = Shape.any<string | readonly string[]>();

export const rule = open<PermissionRule>({
  verdict: oneOf("allow", "ask", "deny"),
  tool: optional(words),
  risk: optional(Shape.any()),
  agent: optional(words),
  tenant: optional(words),
  arguments: optional(list(Shape.any())),
  ruleOfTwo: optional(oneOf("exempt")),
});

export const decision = object<ApprovalDecision>({
  decision: oneOf("approved", "denied", "edited", "expired"),
  by: text(),
  arguments: optional(json),
  reason: optional(text()),
  remember: optional(Shape.boolean),
  at: number,
});

export const limitMet = {
  dimension,
  account: oneOf("run", "subtree", "tree", "tenant", "user"),
  owner: orNull(runId),
  limit: number,
  used: number,
  reserved: number,
  inDoubt: number,
} satisfies Record<keyof LimitMet, unknown>;

export const result = object<RunResult>({
  treeId,
  runId,
  status: endStatus,
  stopReason,
  output: json,
  usage,
  costMicros: number,
  inDoubtMicros: number,
  error: optional(error),
  labels: optional(labels),
  erased: optional(Shape.true),
});
