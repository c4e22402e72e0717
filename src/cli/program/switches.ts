import { Argument, type Command } from "commander";
import type { ClientSwitchTarget } from "#client";
import * as switches from "../commands/switches.ts";
import { omitUndefined } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface SwitchFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly reason?: string;
}

const kinds = ["agent", "tool", "tenant"] as const;

/** `reeve disable`, `reeve enable` and `reeve switches`. */
export function addSwitches({ program, addServerOptions, contextOf, exit }: Commands): void {
  const withTarget = (command: Command): Command =>
    addServerOptions(command)
      .addArgument(new Argument("<kind>", "kind to switch").choices(kinds))
      .argument("[name]", "name of the agent or tool; omit it for the tenant of the key");
  withTarget(program.command("disable"))
    .description("disable an agent, a tool or the tenant on all workers")
    .option("--reason <text>", "reason for callers, models and the audit")
    .addHelpText("after", '\nExample:\n  reeve disable tool send_email --reason "sends to wrong addresses"')
    .action(
      async (kind: string, name: string | undefined, { reason, ...flags }: SwitchFlags, command: Command) =>
        exit(
          await switches.disable(
            contextOf(flags),
            parseSwitchTarget(command, kind, name),
            omitUndefined({ reason }),
          ),
        ),
    );
  withTarget(program.command("enable"))
    .description("enable an agent, a tool or the tenant again; held runs continue")
    .action(async (kind: string, name: string | undefined, flags: SwitchFlags, command: Command) =>
      exit(await switches.enable(contextOf(flags), parseSwitchTarget(command, kind, name))),
    );
  addServerOptions(program.command("switches"))
    .description("list disabled agents, tools and tenants")
    .action(async (flags: SwitchFlags) => exit(await switches.listSwitches(contextOf(flags))));
}

function parseSwitchTarget(command: Command, kind: string, name: string | undefined): ClientSwitchTarget {
  if (kind === "tenant" && name === undefined) return { kind };
  if (kind !== "tenant" && name !== undefined) return { kind: kind === "agent" ? "agent" : "tool", name };
  return command.error(
    kind === "tenant"
      ? "error: omit the name of a tenant: the key determines the tenant"
      : `error: give the name of the ${kind}`,
  );
}
