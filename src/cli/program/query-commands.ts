import { Option } from "commander";
import { RunStatus } from "#kernel";
import { explain } from "../commands/explain.ts";
import * as look from "../commands/look.ts";
import type { Commands } from "./commands.ts";
import { parseCount } from "./arguments.ts";

interface ListFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly status?: string;
  readonly agent?: string;
  readonly user?: string;
  readonly session?: string;
  readonly tree?: string;
  readonly all?: boolean;
  readonly limit: number;
}

/** Adds commands that change nothing. */
export function addQueryCommands({ program, addServerOptions, contextOf, exit }: Commands): void {
  addServerOptions(program.command("runs"))
    .description("list trees, newest first")
    .addOption(new Option("--status <status>", "only trees with this status").choices(RunStatus.all))
    .option("--agent <agent>", "only trees of this agent")
    .option("--user <user>", "only trees of this user")
    .option("--session <session>", "only turns of this session")
    .option("--all", "also list child runs")
    .option("--limit <number>", "maximum number of rows", parseCount, 20)
    .action(async ({ status, agent, user, session, all, limit, ...flags }: ListFlags) => {
      const query = {
        size: String(limit),
        ...(!all && { roots: "true" }),
        ...texts({ status, agent, user, session }),
      };
      exit(await look.runs(contextOf(flags), query));
    });
  addServerOptions(program.command("agents"))
    .description("list the agents that can be started")
    .action(async (flags: ListFlags) => exit(await look.agents(contextOf(flags))));
  addServerOptions(program.command("tree <id>"))
    .description("show the current state of a tree, with a receipt if it has ended")
    .action(async (id: string, flags: ListFlags) => exit(await look.tree(contextOf(flags), id)));
  addServerOptions(program.command("why <id>"))
    .description("explain why a run stopped or waits")
    .addHelpText("after", "\n<id> is a tree, or a run of it such as books-2026~3 (see `reeve runs --all`)")
    .action(async (id: string, flags: ListFlags) => exit(await explain(contextOf(flags), id)));
  addServerOptions(program.command("sessions"))
    .description("list sessions (conversations), newest first")
    .option("--user <user>", "only sessions of this user")
    .option("--limit <number>", "maximum number of rows", parseCount, 20)
    .action(async ({ user, limit, ...flags }: ListFlags) =>
      exit(await look.sessions(contextOf(flags), { size: String(limit), ...texts({ user }) })),
    );
  addServerOptions(program.command("approvals"))
    .description("list calls that wait for approval")
    .option("--tree <tree>", "only approvals of this tree")
    .option("--all", "also list decided approvals")
    .option("--limit <number>", "maximum number of rows", parseCount, 20)
    .action(async ({ tree, all, limit, ...flags }: ListFlags) => {
      const query = { size: String(limit), ...(!all && { state: "pending" }), ...texts({ tree }) };
      exit(await look.approvals(contextOf(flags), query));
    });
}

function texts(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  );
}
