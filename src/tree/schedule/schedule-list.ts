import { Json, type ObjectContext, type ObjectDefinition } from "#kernel";
import type { ScheduleLimits, ScheduleRefusal } from "./schedule-protocol.ts";

/*
 * The list of a tenant's schedules: one value per name, so that a change of one reads no other. Schedules add and
 * remove themselves, in the call that creates or removes them.
 */

const prefix = "name/";

/** A part of the list. */
export interface ListSchedulesArgument {
  /** Restricts the list to one user, or to schedules without one. Default: all of the tenant. */
  readonly user?: string | null | undefined;
  /** The last name of the previous part. Default: from the beginning. */
  readonly after?: string | undefined;
  readonly size: number;
}

interface ScheduleNameArgument {
  readonly name: string;
}

/** A schedule to add. */
export interface AddScheduleArgument extends ScheduleNameArgument {
  readonly user: string | null;
  readonly limits: ScheduleLimits;
}

/** Adds a schedule. Returns whose limit forbids it; null: it is in the list. */
function add(object: ObjectContext, argument: Json): ScheduleRefusal["full"] | null {
  const { name, user, limits } = Json.as<AddScheduleArgument>(argument);
  const names = object.list(prefix);
  const key = `${prefix}${name}`;
  if (names.includes(key)) return null;
  if (names.length >= limits.maxPerTenant) return "tenant";
  const own = names.filter((each) => each.startsWith(`${prefix}${userPrefix(user)}`));
  if (user !== null && own.length >= limits.maxPerUser) return "user";
  object.set(key, true);
  return null;
}

const userPrefix = (user: string | null): string => `[${JSON.stringify(user)},`;

function dropSchedule(object: ObjectContext, argument: Json): Json {
  object.clear(`${prefix}${Json.as<ScheduleNameArgument>(argument).name}`);
  return null;
}

/** Returns names, in order. */
function listSchedules(object: ObjectContext, argument: Json): Json {
  const { user, after = "", size } = Json.as<ListSchedulesArgument>(argument);
  const begin = user === undefined ? "" : userPrefix(user);
  const names = object.list(`${prefix}${begin}`).map((name) => name.slice(prefix.length));
  return names.filter((name) => name > after).slice(0, size);
}

/** The list of a tenant's schedules. */
export const scheduleListObject: ObjectDefinition = {
  type: "schedules",
  methods: { add, drop: dropSchedule },
  queries: { list: listSchedules },
};
