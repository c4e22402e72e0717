import { Json, type ObjectContext, type ObjectDefinition } from "#kernel";

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

function add(object: ObjectContext, argument: Json): Json {
  object.set(`${prefix}${Json.as<ScheduleNameArgument>(argument).name}`, true);
  return null;
}

function dropSchedule(object: ObjectContext, argument: Json): Json {
  object.clear(`${prefix}${Json.as<ScheduleNameArgument>(argument).name}`);
  return null;
}

/** Returns names, in order. */
function listSchedules(object: ObjectContext, argument: Json): Json {
  const { user, after = "", size } = Json.as<ListSchedulesArgument>(argument);
  const begin = user === undefined ? "" : `[${JSON.stringify(user)},`;
  const names = object.list(`${prefix}${begin}`).map((name) => name.slice(prefix.length));
  return names.filter((name) => name > after).slice(0, size);
}

/** The list of a tenant's schedules. */
export const scheduleListObject: ObjectDefinition = {
  type: "schedules",
  methods: { add, drop: dropSchedule },
  queries: { list: listSchedules },
};
