import { Json, Partition, type ObjectContext, type ObjectDefinition } from "#kernel";
import { CronTicks } from "./cron-ticks.ts";
import { planTicks } from "./plan-ticks.ts";
import { scheduleListObject, type AddScheduleArgument } from "./schedule-list.ts";
import {
  isOfSchedule,
  scheduleListAddress,
  scheduleName,
  tickSinkType,
  type ScheduleLimits,
  type ScheduleRefusal,
  type ScheduleReply,
  type ScheduleSpec,
  type ScheduleState,
  type SetScheduleArgument,
  type TickOrder,
  type TickResult,
} from "./schedule-protocol.ts";

/*
 * A schedule: the single writer of its decided ticks. It holds one timer, for its next tick.
 *
 * Neighbours: `runtime.schedules` calls its methods. The timer is a message to itself. For each tick that starts a tree
 * it sends an order to the sink `tick`. The sink runs on a worker that knows the agents, starts the tree and reports
 * the result.
 *
 * 1. `after` only rises, and every tick is ordered by the call that raises `after` past it. So a tick is ordered once.
 * 2. A timer message carries the generation of the times it was armed for, and the nonce of the schedule. One of another
 *    generation does nothing, nor one of a schedule of the same id that was removed.
 * 3. An ordered tick starts the content that is set when its tree is started.
 */

const specKey = "spec";
const stateKey = "state";

/** Maximum time until a schedule checks its clock and its time zone again. */
const maxDelayMs = 86_400_000;

/**
 * Creates or replaces a schedule. Equal content changes nothing. The same times with other content keep missed ticks.
 * Returns it, or whose limit forbids it.
 */
function setSchedule(object: ObjectContext, argument: Json): Json {
  const { spec, nonce, limits } = Json.as<SetScheduleArgument>(argument);
  object.prefetch([specKey, stateKey]);
  const now = object.now();
  const found = readSchedule(object);
  if (found && JSON.stringify(found.spec) === JSON.stringify(spec)) return Json.of(found);
  const full = found ? null : enterList(object, spec, limits);
  if (full !== null) return { full };
  object.set(specKey, Json.of(spec));
  if (found && found.spec.cron === spec.cron && found.spec.timeZone === spec.timeZone) {
    const state = { ...found.state, setAt: now };
    object.set(stateKey, Json.of(state));
    return Json.of({ spec, state });
  }
  const { generation = 0, after = now, paused = false, last = null, lastTree = null } = found?.state ?? {};
  const kept = { nonce: found?.state.nonce ?? nonce, paused, setAt: now, last, lastTree };
  const from = { ...kept, generation: generation + 1, after: Math.max(after, now), next: null };
  return Json.of({ spec, state: arm(object, spec, from) });
}

/** Adds a new schedule to the list of its tenant. Returns whose limit forbids it; null: none. */
function enterList(
  object: ObjectContext,
  spec: ScheduleSpec,
  limits: ScheduleLimits,
): ScheduleRefusal["full"] | null {
  const entry: AddScheduleArgument = { name: toScheduleName(spec), user: spec.user, limits };
  return Json.as(object.call(listAddress(object), "add", Json.of(entry)));
}

/** The message of a timer. */
type TimerMessage = Pick<TickOrder, "generation" | "nonce">;

/** Handles the timer's message: orders the due ticks, and arms the next one. */
function due(object: ObjectContext, argument: Json): Json {
  const { generation, nonce } = Json.as<TimerMessage>(argument);
  object.prefetch([specKey, stateKey]);
  const now = object.now();
  const found = readSchedule(object);
  if (!found || !isOfSchedule(found, { generation, nonce }) || found.state.paused) return null;
  const { spec, state } = found;
  const { catchUp } = spec;
  const plan = planTicks(ticksOf(spec), { catchUp, after: state.after, now });
  for (const tick of plan.start) {
    const order: TickOrder = { tick, generation, nonce: state.nonce };
    object.send({ type: tickSinkType, key: object.key }, "take", Json.of(order));
  }
  arm(object, spec, { ...state, after: plan.after });
  return null;
}

/** Records the result of a tick. Results may come late and repeatedly: that of the latest tick stays. */
function noteTick(object: ObjectContext, argument: Json): Json {
  const result = Json.as<TickResult>(argument);
  const found = readSchedule(object);
  if (!found || (found.state.last && found.state.last.tick >= result.tick)) return null;
  const lastTree = result.outcome === "started" ? result.treeId : found.state.lastTree;
  object.set(stateKey, Json.of({ ...found.state, last: result, lastTree } satisfies ScheduleState));
  return null;
}

/**
 * Pauses a schedule, or resumes it from now. Ticks that were due during the pause are not caught up. Null: there is no
 * schedule.
 */
function pauseSchedule(object: ObjectContext, argument: Json): Json {
  const { paused } = Json.as<Pick<ScheduleState, "paused">>(argument);
  const now = object.now();
  const found = readSchedule(object);
  if (!found || paused === found.state.paused) return Json.of(found);
  const { spec, state } = found;
  const generation = state.generation + 1;
  const after = Math.max(state.after, now);
  return Json.of({ spec, state: arm(object, spec, { ...state, generation, paused, after }) });
}

/** Removes a schedule. Returns whether there was one. */
function removeSchedule(object: ObjectContext): Json {
  const found = readSchedule(object);
  if (!found) return false;
  object.call(listAddress(object), "drop", { name: toScheduleName(found.spec) });
  object.clear(specKey);
  object.clear(stateKey);
  return true;
}

/** A schedule that starts trees automatically. */
const scheduleObject: ObjectDefinition = {
  type: "schedule",
  methods: { set: setSchedule, due, ticked: noteTick, pause: pauseSchedule, remove: removeSchedule },
  queries: { get: (object) => Json.of(readSchedule(object)) },
};

/** Schedules, and their list for each tenant. */
export const scheduleObjects: readonly ObjectDefinition[] = [scheduleObject, scheduleListObject];

/** Arms the timer for the next tick, and stores the state. */
function arm(object: ObjectContext, spec: ScheduleSpec, state: ScheduleState): ScheduleState {
  const next = state.paused ? null : ticksOf(spec).next(state.after);
  const armed = { ...state, next };
  object.set(stateKey, Json.of(armed));
  if (next === null) return armed;
  const delayMs = Math.min(Math.max(0, next - object.now()), maxDelayMs);
  const { generation, nonce } = state;
  object.send({ type: "schedule", key: object.key }, "due", { generation, nonce }, { delayMs });
  return armed;
}

function readSchedule(object: ObjectContext): ScheduleReply | null {
  object.prefetch([specKey, stateKey]);
  const spec = object.get(specKey);
  return spec === null ? null : Json.as({ spec, state: object.get(stateKey) });
}

const ticksOf = ({ cron, timeZone }: ScheduleSpec): CronTicks => new CronTicks(cron, timeZone);

const toScheduleName = ({ id, user }: ScheduleSpec): string => scheduleName(id, user);

const listAddress = ({ key }: ObjectContext): ReturnType<typeof scheduleListAddress> =>
  scheduleListAddress(Partition.parse(key).partition);
