import { Argument, type Command, Option } from "commander";
import { type AuditHead, type Json, Priority } from "#kernel";
import * as act from "../commands/act.ts";
import * as budgets from "../commands/budget.ts";
import type { TenantBudget } from "#runtime";
import type { Commands } from "./commands.ts";
import { type InputFlags, readSentInput } from "../client/sent-input.ts";
import { amount, auditHead, omitUndefined, json, collectValues, parseCount } from "./arguments.ts";

interface ActFlags {
  readonly url?: string;
  readonly json?: boolean;
}

/** Commands that change something. */
export function addControlCommands(commands: Commands): void {
  addDeciding(commands);
  addBudgets(commands);
  addMessages(commands);
  const { program, addServerOptions, contextOf, exit } = commands;
  addServerOptions(program.command("pause <id>"))
    .description("pause a run and everything below it")
    .action(async (id: string, flags: ActFlags) => exit(await act.pauseRun(contextOf(flags), id)));
  addServerOptions(program.command("resume <id>"))
    .description("resume a paused run")
    .action(async (id: string, flags: ActFlags) => exit(await act.resumeRun(contextOf(flags), id)));
  addServerOptions(program.command("signal <id> <name>"))
    .description("wake a run that waits for this signal")
    .argument("[data]", "data for the signal, as JSON", json, null)
    .addHelpText("after", `\nExample:\n  reeve signal books go '{"by":"ada"}'`)
    .action(async (id: string, name: string, data: Json, flags: ActFlags) =>
      exit(await act.signal(contextOf(flags), id, { name, data })),
    );
  addServerOptions(program.command("cancel <id>"))
    .description("stop a run and everything below it; returns when all runs have ended")
    .option("--reason <text>", "reason for the audit", "user")
    .action(async (id: string, { reason, ...flags }: ActFlags & { readonly reason: string }) =>
      exit(await act.cancelRun(contextOf(flags), id, reason)),
    );
  addServerOptions(program.command("top-up <id>"))
    .description("raise the limits of a run and, for a root, of its tree")
    .option("--cost <dollars>", "more dollars", amount)
    .option("--tokens <number>", "more tokens", parseCount)
    .option("--turns <number>", "more model calls", parseCount)
    .action(async (id: string, flags: ActFlags & TopUpFlags, command) => {
      const { cost: maxCostUsd, tokens: maxTokens, turns: maxTurns } = flags;
      const amounts = omitUndefined({ maxCostUsd, maxTokens, maxTurns });
      if (Object.keys(amounts).length === 0) command.error("error: give --cost, --tokens or --turns");
      exit(await act.topUpRun(contextOf(flags), id, amounts));
    });
  addServerOptions(program.command("reprioritize <id>"))
    .description("change the priority of a run")
    .addArgument(new Argument("<priority>").choices(Priority.all))
    .action(async (id: string, priority: Priority, flags: ActFlags) =>
      exit(await act.reprioritizeRun(contextOf(flags), id, priority)),
    );
  addServerOptions(program.command("reconcile <id> <attempt>"))
    .description("settle a call in doubt with the tokens from the provider's bill")
    .requiredOption("--input <tokens>", "input tokens", parseCount)
    .requiredOption("--output <tokens>", "output tokens", parseCount)
    .option("--cached-input <tokens>", "input tokens read from the cache", parseCount)
    .action(async (id: string, attempt: string, flags: ActFlags & UsageFlags) => {
      const { input, output, cachedInput } = flags;
      const usage = { input, output, ...omitUndefined({ cachedInput }) };
      exit(await act.reconcileCall(contextOf(flags), id, { attempt, usage }));
    });
  const audit = program.command("audit").description("the audit chain");
  addServerOptions(audit.command("verify"))
    .description("check every link of the chain")
    .option("--head <head>", "head from an earlier verify, to detect removed links", auditHead)
    .action(async ({ head, ...flags }: ActFlags & { readonly head?: AuditHead }) =>
      exit(await act.verifyAudit(contextOf(flags), head)),
    );
}

interface UsageFlags {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
}

function addMessages({ program, addServerOptions, contextOf, exit }: Commands): void {
  const withContent = (command: Command): Command =>
    addServerOptions(command)
      .option("--file <path>", "attach an image, a PDF or another file; may be repeated", collectValues)
      .option("--data <json>", "attach data, as JSON", json);
  withContent(program.command("steer <id> <text>"))
    .description("send a message that a run reads before its next model call")
    .action(async (id: string, text: string, flags: ActFlags & InputFlags) => {
      const context = contextOf(flags);
      exit(await act.steer(context, id, await readSentInput(text, flags, context.terminal.folder)));
    });
  withContent(program.command("follow-up <id> <text>"))
    .description("send a message that a run reads when it would stop; it then continues")
    .action(async (id: string, text: string, flags: ActFlags & InputFlags) => {
      const context = contextOf(flags);
      exit(await act.followUp(context, id, await readSentInput(text, flags, context.terminal.folder)));
    });
}

interface BudgetFlags extends ActFlags {
  readonly user?: string;
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly per: TenantBudget["per"];
}

function addBudgets({ program, addServerOptions, contextOf, exit }: Commands): void {
  const budget = program
    .command("budget")
    .description("budget of all trees of the tenant, or of one of its users");
  const whose = ["--user <user>", "budget of this user (default: of the tenant)"] as const;
  addServerOptions(budget.command("show"))
    .description("show the budget and its use")
    .option(...whose)
    .action(async ({ user, ...flags }: BudgetFlags) =>
      exit(await budgets.showBudget(contextOf(flags), user)),
    );
  addServerOptions(budget.command("set"))
    .description("set the budget; live trees apply it within a minute")
    .option(...whose)
    .option("--max-cost <dollars>", "maximum cost in dollars", amount)
    .option("--max-tokens <number>", "maximum number of tokens", parseCount)
    .addOption(
      new Option("--per <period>", "period in UTC: day, month or ever")
        .choices(["day", "month", "ever"])
        .makeOptionMandatory(),
    )
    .action(async ({ user, maxCost: maxCostUsd, maxTokens, per, ...flags }: BudgetFlags, command) => {
      const limits = omitUndefined({ maxCostUsd, maxTokens });
      if (Object.keys(limits).length === 0) command.error("error: give --max-cost or --max-tokens");
      exit(await budgets.setBudget(contextOf(flags), { ...limits, ...omitUndefined({ user }), per }));
    });
  addServerOptions(budget.command("remove"))
    .description("remove the budget")
    .option(...whose)
    .action(async ({ user, ...flags }: BudgetFlags) =>
      exit(await budgets.removeBudget(contextOf(flags), user)),
    );
}

interface TopUpFlags {
  readonly cost?: number;
  readonly tokens?: number;
  readonly turns?: number;
}

function addDeciding({ program, addServerOptions, contextOf, exit }: Commands): void {
  addServerOptions(program.command("approve <id>"))
    .description("approve a call that waits for approval")
    .option("--remember", "also approve every further call of this tool by this run")
    .addHelpText("after", "\n<id> is an approval, or a tree or run in which exactly one call waits")
    .action(async (id: string, { remember, ...flags }: ActFlags & { readonly remember?: boolean }) =>
      exit(await act.decideApproval(contextOf(flags), { verb: "approve", id }, omitUndefined({ remember }))),
    );
  addServerOptions(program.command("edit <id>"))
    .description("approve a call with other arguments")
    .argument("<arguments>", "all arguments, as JSON", json)
    .option("--reason <text>", "reason for the model")
    .action(async (id: string, edited: Json, { reason, ...flags }: ActFlags & { readonly reason?: string }) =>
      exit(
        await act.decideApproval(
          contextOf(flags),
          { verb: "edit", id },
          { arguments: edited, ...omitUndefined({ reason }) },
        ),
      ),
    );
  addServerOptions(program.command("answer <id>"))
    .description("answer an agent's question")
    .argument("<answer>", "a text, one of the choices, or the fields of a form as JSON")
    .action(async (id: string, answer: string, flags: ActFlags) =>
      exit(await act.answerQuestion(contextOf(flags), id, answer)),
    );
  addServerOptions(program.command("deny <id>"))
    .description("deny a call; the model receives the reason")
    .option("--reason <text>", "reason for the model")
    .action(async (id: string, { reason, ...flags }: ActFlags & { readonly reason?: string }) =>
      exit(await act.decideApproval(contextOf(flags), { verb: "deny", id }, omitUndefined({ reason }))),
    );
}
