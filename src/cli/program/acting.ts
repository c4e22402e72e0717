import { Argument } from "commander";
import { type AuditHead, type Json, Priority } from "#kernel";
import * as act from "../commands/act.ts";
import type { Commands } from "./commands.ts";
import { amount, auditHead, given, json, whole } from "./arguments.ts";

interface ActFlags {
  readonly url?: string;
  readonly json?: boolean;
}

/** Commands that change something. */
export function addActing(commands: Commands): void {
  addDeciding(commands);
  const { program, asking, contextOf, exit } = commands;
  asking(program.command("pause <id>"))
    .description("hold a run and everything below it")
    .action(async (id: string, flags: ActFlags) => exit(await act.pause(contextOf(flags), id)));
  asking(program.command("resume <id>"))
    .description("lift a hold")
    .action(async (id: string, flags: ActFlags) => exit(await act.resume(contextOf(flags), id)));
  asking(program.command("signal <id> <name>"))
    .description("wake a run that waits for a signal of that name")
    .argument("[data]", "what goes with it, as JSON", json, null)
    .addHelpText("after", `\nExample:\n  reeve signal books go '{"by":"ada"}'`)
    .action(async (id: string, name: string, data: Json, flags: ActFlags) =>
      exit(await act.signal(contextOf(flags), id, { name, data })),
    );
  asking(program.command("cancel <id>"))
    .description("stop a run and everything below it; returns when all have ended")
    .option("--reason <words>", "for the record", "user")
    .action(async (id: string, { reason, ...flags }: ActFlags & { readonly reason: string }) =>
      exit(await act.cancel(contextOf(flags), id, reason)),
    );
  asking(program.command("top-up <id>"))
    .description("add to a run's limits and, for a root, to its tree's")
    .option("--cost <dollars>", "more dollars", amount)
    .option("--tokens <number>", "more tokens", whole)
    .option("--turns <number>", "more model calls", whole)
    .action(async (id: string, flags: ActFlags & TopUpFlags, command) => {
      const { cost: maxCostUsd, tokens: maxTokens, turns: maxTurns } = flags;
      const amounts = given({ maxCostUsd, maxTokens, maxTurns });
      if (Object.keys(amounts).length === 0) command.error("error: how much? --cost, --tokens or --turns");
      exit(await act.topUp(contextOf(flags), id, amounts));
    });
  asking(program.command("reprioritize <id>"))
    .description("give a run another priority")
    .addArgument(new Argument("<priority>").choices(Priority.all))
    .action(async (id: string, priority: Priority, flags: ActFlags) =>
      exit(await act.reprioritize(contextOf(flags), id, priority)),
    );
  const audit = program.command("audit").description("the audit chain");
  asking(audit.command("verify"))
    .description("walk the whole chain and check every link")
    .option("--head <head>", "as an earlier verify told it: links that were cut off since show", auditHead)
    .action(async ({ head, ...flags }: ActFlags & { readonly head?: AuditHead }) =>
      exit(await act.verifyAudit(contextOf(flags), head)),
    );
}

interface TopUpFlags {
  readonly cost?: number;
  readonly tokens?: number;
  readonly turns?: number;
}

function addDeciding({ program, asking, contextOf, exit }: Commands): void {
  asking(program.command("approve <id>"))
    .description("let a call be made that waits for somebody's word")
    .option("--remember", "every further call of this tool by this run, too")
    .addHelpText("after", "\n<id> is an approval, or a tree or run in which only one call waits")
    .action(async (id: string, { remember, ...flags }: ActFlags & { readonly remember?: boolean }) =>
      exit(await act.decide(contextOf(flags), "approve", id, given({ remember }))),
    );
  asking(program.command("deny <id>"))
    .description("refuse it; the model is told so")
    .option("--reason <words>", "what the model is told")
    .action(async (id: string, { reason, ...flags }: ActFlags & { readonly reason?: string }) =>
      exit(await act.decide(contextOf(flags), "deny", id, given({ reason }))),
    );
}
