import type { ObjectAddress, RunId } from "#kernel";
import { Shape } from "#base";
import type { Loan } from "#ledger";
import type { ScheduleSpec, ScheduleState, TickResult } from "../schedule/schedule-protocol.ts";
import { storedDefaults } from "../state/stored-run.ts";
import type { HeldArgument, SwitchRecord, SwitchRef } from "../switches/switch-protocol.ts";
import { event } from "./event-shapes.ts";
import { budgetAccount, doubt, queued, slot } from "./ledger-shapes.ts";
import { address, approvalId, numberOrNull, runId, runIds, texts, topicMessage, treeId } from "./parts.ts";
import { ended, item, run } from "./run-shapes.ts";
import {
  approval,
  asks,
  cancel,
  content,
  info,
  lateAsks,
  liveEntry,
  subscriptionEntry,
  topic,
  tree,
} from "./tree-shapes.ts";

/*
 * The shapes of all stored values, by the type of their object and by the first part of their name. A value with an
 * unknown name is refused, too.
 */

const { boolean, count, list, number, object, oneOf, optional, orNull, text } = Shape;

/** Returns the shape of a value by its whole name. */
type ShapeOf = (name: string) => Pick<Shape<unknown>, "find">;

const always =
  (shape: Pick<Shape<unknown>, "find">): ShapeOf =>
  () =>
    shape;

const compactEnded = Shape.compact(ended, storedDefaults.ended);
const endedPage = list(ended);
const done = Shape.true;
const seenEntry: Shape<RunId | true> = { find: (value) => (value === true ? null : runId.find(value)) };

const ofTree: Readonly<Record<string, ShapeOf>> = {
  tree: always(tree),
  info: always(info),
  erased: always(info),
  finished: always(done),
  closed: always(done),
  run: always(Shape.compact(run, storedDefaults.run)),
  slot: always(Shape.compact(slot, storedDefaults.slot)),
  ended: (name) => (name.startsWith("ended/page/") ? endedPage : compactEnded),
  content: always(content),
  event: always(list(event)),
  inbox: always(list(item)),
  waits: always(runIds),
  line: always(list(queued)),
  live: (name) => (name === "live" ? list(count) : list(liveEntry)),
  seen: always(Shape.map(seenEntry)),
  asks: always(asks),
  "late-asks": always(lateAsks),
  cancel: (name) => (name.endsWith("/done") ? done : cancel),
  doubt: always(doubt),
  approval: always(approval),
  "approval-at": always(approvalId),
  topic: always(topic),
  subscriptions: always(list(subscriptionEntry)),
  told: always(topicMessage),
  disabled: always(
    object<SwitchRef>({ kind: oneOf("tenant", "agent", "tool"), name: text(), object: text() }),
  ),
};

type SessionState = {
  readonly holder: ObjectAddress | null;
  readonly until?: number | undefined;
  readonly line: readonly ObjectAddress[];
};

const ofSession: Readonly<Record<string, ShapeOf>> = {
  session: always(
    object<SessionState>({ holder: orNull(address), until: optional(number), line: list(address) }),
  ),
};

type Holders = { readonly count: number; readonly next: number; readonly recalledAt: number };

const ofTenant: Readonly<Record<string, ShapeOf>> = {
  budget: always(budgetAccount),
  loan: always(
    object<Loan & { readonly index: number }>({
      tokens: number,
      costMicros: number,
      leasedAt: number,
      index: count,
    }),
  ),
  holder: always(treeId),
  holders: always(object<Holders>({ count, next: count, recalledAt: number })),
};

const switchFields = { kind: oneOf("tenant", "agent", "tool"), name: text() };

const ofSwitches: Readonly<Record<string, ShapeOf>> = {
  switches: always(
    list(object<SwitchRecord>({ ...switchFields, reason: orNull(text()), by: orNull(text()), at: number })),
  ),
  tenants: always(texts),
  held: always(object<HeldArgument>({ ...switchFields, tree: text(), run: runId })),
};

const tick = object<TickResult>({
  tick: number,
  at: number,
  outcome: oneOf("started", "skipped", "failed"),
  treeId: orNull(treeId),
  error: orNull(text()),
});

const ofSchedule: Readonly<Record<string, ShapeOf>> = {
  spec: always(
    object<ScheduleSpec>({
      id: text(),
      user: orNull(text<NonNullable<ScheduleSpec["user"]>>()),
      cron: text(),
      timeZone: text(),
      agent: text(),
      input: Shape.any(),
      options: Shape.anyObject(),
      catchUp: oneOf("none", "latest", "all"),
      overlap: oneOf("start", "skip"),
      key: orNull(text()),
    }),
  ),
  state: always(
    object<ScheduleState>({
      generation: count,
      nonce: text(),
      after: number,
      next: numberOrNull,
      paused: boolean,
      setAt: number,
      last: orNull(tick),
      lastTree: orNull(treeId),
    }),
  ),
};

const byType: Readonly<Record<string, Readonly<Record<string, ShapeOf>>>> = {
  tree: ofTree,
  session: ofSession,
  tenant: ofTenant,
  switches: ofSwitches,
  schedule: ofSchedule,
  schedules: { name: always(done) },
};

/** Returns the problem of a stored value. Null: it is valid. */
export function findStoredProblem(type: string, name: string, value: unknown): string | null {
  const kinds = byType[type] ?? {};
  const [kind = ""] = name.split("/", 1);
  const shape = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  return shape ? shape(name).find(value) : " has an unknown name";
}
