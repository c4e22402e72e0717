import { NotFoundError, UserId } from "#kernel";
import { errorMessage } from "#base";
import {
  checkScheduleId,
  checkTimes,
  shortestIntervalMs,
  type ScheduleLimits,
  type ScheduleOwner,
  type ScheduleView,
} from "#runtime";
import { mayReadEntries, whose } from "../auth.ts";
import { toJsonResponse, type Call, type Route, route } from "../route.ts";
import { refuseRequest, shape } from "../shape.ts";
import { limitStart } from "../start-limits.ts";
import { actingUser, listedUser } from "../users.ts";
import { agentOf } from "./agents.ts";
import { page } from "./runs.ts";
import { turnFields } from "./start-tree.ts";

/** The user of the schedule, where the caller may name one. Absent: the caller's own, or none. */
const user = { user: shape.optional(shape.id(UserId.of, "a user")) } as const;

const { input, labels, metadata, retention, priority, deadlineS, budget, spawn } = turnFields;

const schedule = shape.object({
  ...user,
  input,
  labels,
  metadata,
  retention,
  priority,
  deadlineS,
  budget,
  spawn,
  cron: shape.line(),
  timeZone: shape.optional(shape.line()),
  agent: shape.line(),
  catchUp: shape.optional(shape.oneOf(["all", "latest", "none"])),
  overlap: shape.optional(shape.oneOf(["start", "skip"])),
});

const scheduleId = shape.id(checkScheduleId, "a schedule");

/** @throws HttpError */
const readScheduleId = ({ params }: Call): string => scheduleId.decode(params["schedule"], "path");

/** Returns the user whose schedule the caller changes. @throws HttpError */
function actingOwner({ principal }: Call, named: UserId | undefined, at: string): ScheduleOwner {
  return { ...whose(principal), user: actingUser(principal, named, at) };
}

/** Refuses invalid times, and ticks that follow each other too fast, with an explanation. @throws HttpError */
function checkBody(
  { host, principal }: Call,
  { cron, timeZone }: { readonly cron: string; readonly timeZone: string },
): void {
  const now = host.clock.now();
  try {
    checkTimes({ cron, timeZone }, now);
  } catch (error) {
    refuseRequest("body", errorMessage(error));
  }
  const scheduleIntervalS = Math.max(host.limits.scheduleIntervalS, principal.limits?.scheduleIntervalS ?? 0);
  const intervalMs = shortestIntervalMs({ cron, timeZone }, now);
  if (intervalMs < scheduleIntervalS * 1_000)
    refuseRequest(
      "body.cron",
      `must tick at most every ${scheduleIntervalS} s, and ticks after ${intervalMs / 1_000} s`,
    );
}

/** Refuses a schedule that the runtime refuses, with its explanation. @throws HttpError */
function refuseSchedule(error: unknown): never {
  if (error instanceof TypeError || error instanceof RangeError) refuseRequest("body", errorMessage(error));
  throw error;
}

/** Returns how many schedules the caller's key allows. */
function keyLimits({ principal }: Call): Partial<ScheduleLimits> {
  const { schedules } = principal.limits ?? {};
  if (schedules === undefined) return {};
  return principal.user === undefined ? { maxPerTenant: schedules } : { maxPerUser: schedules };
}

/** Returns the caller's key if the store has it: then it is looked up again at each tick. */
async function findKeyRecord({ host, principal }: Call): Promise<{ readonly key?: string }> {
  const { id, tenant } = principal;
  const record = await host.runtime.store.apiKeys.find(id);
  return record && record.tenant === tenant ? { key: id } : {};
}

/** Pauses or resumes a schedule. */
const pauseRoute = (verb: "pause" | "resume", summary: string): Route =>
  route({
    method: "post",
    path: `/schedules/:schedule/${verb}`,
    scope: "run",
    forUsers: true,
    summary,
    body: shape.object(user),
    handle: async (call) => {
      const { schedules } = call.host.runtime;
      const owner = actingOwner(call, call.body.user, "body.user");
      const view: ScheduleView = await schedules[verb](readScheduleId(call), owner);
      return toJsonResponse(view);
    },
  });

/** Trees that start by the clock. */
export const scheduleRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/schedules",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "Schedules, by user and id, without their inputs",
    query: shape.object({ ...page, ...user, size: shape.optional(shape.integer({ min: 1, max: 200 })) }),
    handle: async ({ host, principal, query }) => {
      const { user: named, ...request } = query;
      const listed = listedUser(principal, named);
      const filter = { ...whose(principal), ...request, ...(listed !== undefined && { user: listed }) };
      return toJsonResponse(await host.runtime.schedules.list(filter));
    },
  }),
  route({
    method: "get",
    path: "/schedules/:schedule",
    scope: "read",
    forUsers: true,
    pool: "calls",
    summary: "A schedule: its times, its input, its next and its last tick",
    query: shape.object(user),
    handle: async (call) => {
      const id = readScheduleId(call);
      const owner = { ...whose(call.principal), user: listedUser(call.principal, call.query.user) };
      const found = await call.host.runtime.schedules.get(id, owner);
      if (!found) throw new NotFoundError({ what: "schedule", id });
      const { input: _, ...view } = found;
      return toJsonResponse(mayReadEntries(call.principal) ? found : view);
    },
  }),
  route({
    method: "put",
    path: "/schedules/:schedule",
    scope: "run",
    forUsers: true,
    summary: "Start an agent at each tick of a cron expression, within the limits of this key; replaces",
    body: schedule,
    handle: async (call) => {
      const { host, body } = call;
      const { user: named, agent: name, timeZone = "UTC", ...given } = body;
      const { tenant, user: acting } = actingOwner(call, named, "body.user");
      const agent = agentOf(host, name);
      checkBody(call, { cron: body.cron, timeZone });
      const { deadlineS: _, ...options } = given;
      const set = {
        ...options,
        ...limitStart(call, agent, given),
        ...(await findKeyRecord(call)),
        id: readScheduleId(call),
        timeZone,
        agent,
        tenant,
        user: acting ?? undefined,
      };
      const setting = host.runtime.schedules.set(set, keyLimits(call));
      const view: ScheduleView = await setting.catch(refuseSchedule);
      return toJsonResponse(view);
    },
  }),
  route({
    method: "delete",
    path: "/schedules/:schedule",
    scope: "run",
    forUsers: true,
    summary: "Remove a schedule; live trees continue",
    query: shape.object(user),
    handle: async (call) => {
      const id = readScheduleId(call);
      const owner = actingOwner(call, call.query.user, "query.user");
      if (!(await call.host.runtime.schedules.remove(id, owner)))
        throw new NotFoundError({ what: "schedule", id });
      return toJsonResponse({});
    },
  }),
  pauseRoute("pause", "Pause a schedule: its ticks start no trees"),
  pauseRoute("resume", "Resume a schedule from now on"),
];
