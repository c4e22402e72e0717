import type { LimitMet } from "#kernel";
import { Shape } from "#base";
import type {
  Account,
  ReservationRequest,
  BudgetAccount,
  Doubt,
  Queued,
  RunAccount,
  Slot,
  TreeState,
} from "#ledger";
import {
  attemptId,
  dimension,
  limitMet,
  numberOrNull,
  price,
  priority,
  runId,
  runIds,
  spawnBudget,
  stepId,
  texts,
  usage,
} from "./parts.ts";

const { boolean, count, list, map, number, object, oneOf, optional, orNull, text } = Shape;

const amounts = object<Account["settled"]>({ tokens: number, costMicros: number });

const accountFields = {
  maxTokens: numberOrNull,
  maxCostMicros: numberOrNull,
  settled: amounts,
  reserved: amounts,
  inFlight: number,
  inDoubt: amounts,
  usage,
  waitsForTopUp: boolean,
  warned: list(dimension),
  exceeded: list(oneOf("tokens", "cost")),
};

const attempt = object<RunAccount["attempts"][number]>({
  id: attemptId,
  step: stepId,
  kind: oneOf("model", "tool"),
  ceiling: amounts,
  price: orNull(price),
  outputTokens: number,
  shrunk: orNull(oneOf("tokens", "cost")),
  openedAt: number,
  model: optional(text()),
  hiddenTokens: optional(count),
  leasedAt: optional(number),
  dueAt: number,
  isUnused: optional(Shape.true),
});

const ask = Shape.open<ReservationRequest>({
  inputTokens: number,
  model: optional(text()),
  unbounded: optional(Shape.true),
  outputTokens: number,
  minOutputTokens: number,
  price: orNull(price),
  unpriced: oneOf("refuse", "allow"),
  landing: boolean,
  uncounted: optional(Shape.true),
});

const waitingCall = object<RunAccount["waiting"][number]>({
  step: stepId,
  ask,
  since: number,
  met: object<LimitMet>(limitMet),
  needsTopUp: boolean,
  priority,
  page: count,
});

export const runAccount = object<RunAccount>({
  ...accountFields,
  maxTurns: numberOrNull,
  turns: count,
  attempts: list(attempt),
  steps: list(object<RunAccount["steps"][number]>({ step: stepId, begun: count, lost: count })),
  waiting: list(waitingCall),
});

export const slot = object<Slot>({
  parent: orNull(runId),
  priority,
  order: number,
  phase: oneOf("pending", "running", "waiting", "yielding", "parked"),
  held: boolean,
  since: number,
  waitsForRuns: boolean,
  taker: orNull(runId),
  victim: orNull(runId),
  skipped: boolean,
  asleep: boolean,
  isBlocked: boolean,
  detached: boolean,
  allowedMs: numberOrNull,
  deadline: numberOrNull,
  cancelled: orNull(text()),
  fence: object<Slot["fence"]>({ id: text(), order: numberOrNull, older: texts }),
  children: count,
  idleChildren: count,
  idleSince: numberOrNull,
  idleMs: number,
  hasLateAsks: boolean,
  page: orNull(count),
});

export const doubt = object<Doubt>({
  run: runId,
  step: stepId,
  ceiling: amounts,
  price: orNull(price),
  path: runIds,
  leasedAt: optional(number),
});

export const queued = object<Queued>({
  run: runId,
  since: number,
  order: number,
  deadline: numberOrNull,
  call: optional(
    object<NonNullable<Queued["call"]>>({ step: stepId, needsTopUp: boolean, owner: orNull(runId) }),
  ),
});

const range = optional(object({ first: count, last: count }));

const line = object<TreeState["headcount"]["line"]>({
  background: range,
  low: range,
  normal: range,
  high: range,
  critical: range,
});

type TreeLease = NonNullable<TreeState["lease"]>;

const leaseLimit = object<NonNullable<TreeLease["limits"]["tokens"]>>({
  account: oneOf("tenant", "user"),
  limit: number,
  spent: number,
  reserved: number,
});

const lease = object<TreeLease>({
  tokens: numberOrNull,
  costMicros: numberOrNull,
  limits: object<TreeLease["limits"]>({ tokens: orNull(leaseLimit), costMicros: orNull(leaseLimit) }),
  leasedAt: number,
  until: number,
  used: amounts,
});

export const treeState = object<TreeState>({
  root: runId,
  spawn: spawnBudget,
  account: object<Account>(accountFields),
  lease: orNull(lease),
  ageingMs: number,
  nextOrder: number,
  absentMs: optional(number),
  headcount: object<TreeState["headcount"]>({
    live: count,
    holders: count,
    active: count,
    skipped: runIds,
    line,
  }),
  calls: object<TreeState["calls"]>({ line, due: numberOrNull }),
  hiddenTokens: optional(map(count)),
});

export const budgetAccount = object<BudgetAccount>({
  maxTokens: numberOrNull,
  maxCostMicros: numberOrNull,
  per: oneOf("day", "month", "ever"),
  from: number,
  until: numberOrNull,
  spent: amounts,
  lent: amounts,
});
