import type { EntryId, ExtensionProblem } from "#kernel";
import { Shape } from "#base";
import type { LaunchPolicy } from "../launch-policy.ts";
import type { InboxBatch, LaunchInput } from "../protocol.ts";
import type {
  CarriedPrompt,
  CarriedState,
  CarriedSubscription,
  CarriedTurn,
  InboxItem,
  Task,
} from "../state/records.ts";
import {
  agentId,
  json,
  labels,
  messageId,
  numberOrNull,
  rule,
  runId,
  texts,
  topicId,
  usage,
} from "./parts.ts";
import { item, supervision, turnPlace } from "./run-shapes.ts";
import { scope } from "./tree-shapes.ts";

/*
 * The shape of the input of an execution. Restate keeps it in the journal of the run, from where every replay reads it.
 */

const { boolean, count, list, number, object, oneOf, optional, orNull, text } = Shape;

const entryId = text<EntryId>();

const policy = object<LaunchPolicy>({
  approver: oneOf("code", "human", "none"),
  approvalExpiresS: number,
  ruleOfTwo: oneOf("ask", "off"),
  guardrailHooks: list(oneOf("onTurnStart", "onInput", "beforeCall", "afterCall", "onOutput")),
  functionLayers: boolean,
  hasHooks: boolean,
  allowsAll: optional(Shape.true),
  interceptors: optional(texts),
  interceptsInput: optional(Shape.true),
  problems: optional(list(Shape.open<ExtensionProblem>({ extension: text(), message: text() }))),
});

const carriedTurn = object<CarriedTurn>({
  count,
  saved: count,
  leaf: optional(orNull(entryId)),
  hasActed: optional(Shape.true),
  cut: optional(object<NonNullable<CarriedTurn["cut"]>>({ entry: entryId, count })),
  isAsked: optional(Shape.true),
  skipsHistory: optional(Shape.true),
});

const carried = object<CarriedState>({
  labels,
  tasks: list(object<Task>({ child: runId, message: messageId, print: text() })),
  notes: list(object<CarriedState["notes"][number]>({ guardrail: text(), note: json })),
  reported: optional(list(object<CarriedPrompt>({ model: text(), messages: count, digest: text(), usage }))),
  turn: optional(carriedTurn),
  subscriptions: optional(list(object<CarriedSubscription>({ topic: topicId, subscription: text() }))),
});

/** Stored items also have kinds that the tree replaces when it hands them out. */
const items: Shape<readonly InboxItem[]> = { find: list(item).find };

const inbox = object<InboxBatch>({
  items,
  cursor: count,
  more: boolean,
  slotState: oneOf("running", "yielding", "parked"),
  at: number,
});

const launch = object<LaunchInput>({
  agentId,
  version: text(),
  supervision,
  scope,
  traceId: text(),
  secret: text(),
  policy,
  deadline: numberOrNull,
  state: json,
  tools: orNull(texts),
  rules: list(rule),
  carried: orNull(carried),
  turn: optional(turnPlace),
  inbox,
});

/** Returns the problem of the input of an execution. Null: it is valid. */
export const findLaunchProblem = (value: unknown): string | null => launch.find(value);
