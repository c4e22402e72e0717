import type { ScheduleSettings } from "#client";
import type { ScheduleView } from "#runtime";
import { moment } from "#view";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { scheduleLines } from "../views/schedules.ts";
import { type Context, printLines, sayJson } from "./command.ts";

/** Lists schedules, page by page. */
export async function listSchedules(context: Context, user: string | undefined): Promise<number> {
  const found: ScheduleView[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await context.client.schedules.list({ user, size: 200, ...(after && { after }) });
    found.push(...page.items);
    after = page.next;
  }
  if (context.json) for (const schedule of found) sayJson(context, schedule);
  else printLines(context, scheduleLines(found, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Creates a schedule, or replaces it. */
export async function setSchedule(context: Context, id: string, settings: ScheduleSettings): Promise<number> {
  return showNext(context, await context.client.schedules.set(id, settings));
}

/** Removes a schedule. */
export async function removeSchedule(
  context: Context,
  id: string,
  user: string | undefined,
): Promise<number> {
  await context.client.schedules.remove(id, { user });
  if (context.json) sayJson(context, { removed: id });
  else printLines(context, [`${id}: removed`]);
  return ExitCode.ok;
}

/** Pauses or resumes a schedule. */
export async function change(
  context: Context,
  {
    id,
    verb,
    user,
  }: { readonly id: string; readonly verb: "pause" | "resume"; readonly user?: string | undefined },
): Promise<number> {
  return showNext(context, await context.client.schedules[verb](id, { user }));
}

function showNext(context: Context, schedule: ScheduleView): number {
  const { id, paused, nextAt } = schedule;
  const next = paused ? "paused" : nextAt === null ? "no next tick" : `next tick at ${moment(nextAt)}`;
  if (context.json) sayJson(context, schedule);
  else printLines(context, [`${id}: ${next}`]);
  return ExitCode.ok;
}
