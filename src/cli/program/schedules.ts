import { Option } from "commander";
import type { ScheduleSettings } from "#client";
import * as schedules from "../commands/schedules.ts";
import { amount, omitUndefined, parseCount } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface ScheduleFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly user?: string;
}

interface SetFlags extends ScheduleFlags {
  readonly cron: string;
  readonly timeZone?: string;
  readonly catchUp?: "all" | "latest" | "none";
  readonly overlap?: "start" | "skip";
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxAgents?: number;
  readonly deadline?: number;
}

/** `reeve schedules`: trees that start by the clock. */
export function addSchedules({ program, addServerOptions, contextOf, exit }: Commands): void {
  const group = program.command("schedules").description("manage trees that start on a schedule");
  const whose = [
    "--user <user>",
    "schedules of this user (default: the user of the key, else no user)",
  ] as const;
  addServerOptions(group.command("list"))
    .description("list schedules with their next and last tick")
    .option("--user <user>", "only schedules of this user")
    .action(async ({ user, ...flags }: ScheduleFlags) =>
      exit(await schedules.listSchedules(contextOf(flags), user)),
    );
  addServerOptions(group.command("set <id> <agent> <input>"))
    .description("start an agent at each tick; the same id again replaces the schedule")
    .requiredOption("--cron <expression>", "minute hour day month weekday, with optional seconds in front")
    .option("--time-zone <zone>", "IANA time zone, such as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--catch-up <ticks>", "missed ticks to start late (default: latest)").choices([
        "all",
        "latest",
        "none",
      ]),
    )
    .addOption(
      new Option(
        "--overlap <rule>",
        "action while the tree of an earlier tick lives (default: start)",
      ).choices(["start", "skip"]),
    )
    .option("--max-cost <dollars>", "maximum cost of each tree", amount)
    .option("--max-tokens <number>", "maximum tokens of each tree", parseCount)
    .option("--max-agents <number>", "maximum agents of each tree alive at once", parseCount)
    .option("--deadline <seconds>", "maximum duration of each tree", amount)
    .option(...whose)
    .addHelpText(
      "after",
      '\nExample:\n  reeve schedules set news lead "heat pumps in Europe" --cron "0 9 * * 1-5" --time-zone Europe/Berlin --max-cost 0.50',
    )
    .action(async (id: string, agent: string, input: string, flags: SetFlags) => {
      exit(await schedules.setSchedule(contextOf(flags), id, { agent, input, ...toScheduleSettings(flags) }));
    });
  addServerOptions(group.command("remove <id>"))
    .description("remove a schedule; live trees continue")
    .option(...whose)
    .action(async (id: string, { user, ...flags }: ScheduleFlags) =>
      exit(await schedules.removeSchedule(contextOf(flags), id, user)),
    );
  for (const verb of ["pause", "resume"] as const)
    addServerOptions(group.command(`${verb} <id>`))
      .description(verb === "pause" ? "stop starting trees until resumed" : "start trees again from now on")
      .option(...whose)
      .action(async (id: string, { user, ...flags }: ScheduleFlags) =>
        exit(await schedules.change(contextOf(flags), { id, verb, user })),
      );
}

function toScheduleSettings(flags: SetFlags): Omit<ScheduleSettings, "agent" | "input"> {
  const { cron, timeZone, catchUp, overlap, user, maxAgents } = flags;
  const { maxCost: maxCostUsd, maxTokens, deadline: deadlineS } = flags;
  const budget = omitUndefined({ maxCostUsd, maxTokens });
  return {
    cron,
    ...omitUndefined({ timeZone, catchUp, overlap, user, deadlineS }),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(maxAgents !== undefined && { spawn: { maxAgents } }),
  };
}
