import type { ScheduleView } from "#runtime";
import { moment, clean } from "#view";
import { type Column, table } from "../text/table.ts";
import type { Screen } from "./screen.ts";

/** Schedules, one line each. */
export function scheduleLines(schedules: readonly ScheduleView[], screen: Screen): readonly string[] {
  const columns: readonly Column<ScheduleView>[] = [
    { title: "schedule", text: ({ id }) => id, shrinkTo: 8 },
    { title: "user", text: ({ user }) => user ?? "", shrinkTo: 8 },
    { title: "agent", text: ({ agent }) => agent, shrinkTo: 8 },
    { title: "cron", text: ({ cron, timeZone }) => `${clean(cron)} ${clean(timeZone)}`, shrinkTo: 9 },
    {
      title: "next",
      text: ({ paused, nextAt }) => (paused ? "paused" : nextAt === null ? "" : moment(nextAt)),
    },
    { title: "last", text: ({ last }) => (last ? moment(last.tick) : "") },
    { title: "result", text: resultOf, shrinkTo: 7 },
  ];
  return schedules.length === 0 ? ["no schedules"] : table(columns, schedules, screen);
}

function resultOf({ last }: ScheduleView): string {
  if (!last) return "";
  return last.error === null ? last.outcome : `${last.outcome}: ${clean(last.error)}`;
}
