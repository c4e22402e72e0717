import { Argument, type Command } from "commander";
import type { ClientSwitchTarget } from "#client";
import * as switches from "../commands/switches.ts";
import { given } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface SwitchFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly reason?: string;
}

const kinds = ["agent", "tool", "tenant"] as const;

/** `reeve disable`, `reeve enable` and `reeve switches`. */
export function addSwitches({ program, asking, contextOf, exit }: Commands): void {
  const withTarget = (command: Command): Command =>
    asking(command)
      .addArgument(new Argument("<kind>", "what it is").choices(kinds))
      .argument("[name]", "its name; none for the tenant, which is that of the key");
  withTarget(program.command("disable"))
    .description("stop an agent, a tool or the tenant on all workers, until it is enabled")
    .option("--reason <words>", "told to callers, to models and to the audit")
    .addHelpText("after", '\nExample:\n  reeve disable tool send_email --reason "sends to wrong addresses"')
    .action(
      async (kind: string, name: string | undefined, { reason, ...flags }: SwitchFlags, command: Command) =>
        exit(await switches.disable(contextOf(flags), targetOf(command, kind, name), given({ reason }))),
    );
  withTarget(program.command("enable"))
    .description("let it work again: runs that were held go on")
    .action(async (kind: string, name: string | undefined, flags: SwitchFlags, command: Command) =>
      exit(await switches.enable(contextOf(flags), targetOf(command, kind, name))),
    );
  asking(program.command("switches"))
    .description("list what is disabled")
    .action(async (flags: SwitchFlags) => exit(await switches.list(contextOf(flags))));
}

function targetOf(command: Command, kind: string, name: string | undefined): ClientSwitchTarget {
  if (kind === "tenant" && name === undefined) return { kind };
  if (kind !== "tenant" && name !== undefined) return { kind: kind === "agent" ? "agent" : "tool", name };
  return command.error(
    kind === "tenant" ? "error: the tenant is that of the key: give no name" : `error: which ${kind}?`,
  );
}
