import { Argument, type Command, Option } from "commander";
import { type AuditHead, type Json, Priority } from "#kernel";
import * as act from "../commands/act.ts";
import * as budgets from "../commands/budget.ts";
import type { TenantBudget } from "#runtime";
import type { Commands } from "./commands.ts";
import { type InputFlags, readSentInput } from "../client/sent-input.ts";
import { amount, auditHead, given, json, several, whole } from "./arguments.ts";

interface ActFlags {
  readonly url?: string;
  readonly json?: boolean;
}

/** Commands that change something. */
export function addActing(commands: Commands): void {
  addDeciding(commands);
  addBudgets(commands);
  addMessages(commands);
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
  asking(program.command("reconcile <id> <attempt>"))
    .description("tell what a call in doubt really used, as the provider's bill says")
    .requiredOption("--input <tokens>", "tokens in", whole)
    .requiredOption("--output <tokens>", "tokens out", whole)
    .option("--cached-input <tokens>", "how many of those in came from the cache", whole)
    .action(async (id: string, attempt: string, flags: ActFlags & UsageFlags) => {
      const { input, output, cachedInput } = flags;
      const usage = { input, output, ...given({ cachedInput }) };
      exit(await act.reconcile(contextOf(flags), id, { attempt, usage }));
    });
  const audit = program.command("audit").description("the audit chain");
  asking(audit.command("verify"))
    .description("walk the whole chain and check every link")
    .option("--head <head>", "as an earlier verify told it: links that were cut off since show", auditHead)
    .action(async ({ head, ...flags }: ActFlags & { readonly head?: AuditHead }) =>
      exit(await act.verifyAudit(contextOf(flags), head)),
    );
}

interface UsageFlags {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
}

function addMessages({ program, asking, contextOf, exit }: Commands): void {
  const withContent = (command: Command): Command =>
    asking(command)
      .option("--file <path>", "an image, a PDF or another file that goes with it; again for more", several)
      .option("--data <json>", "data that goes with it, as JSON", json);
  withContent(program.command("steer <id> <text>"))
    .description("tell a run something before its next model call")
    .action(async (id: string, text: string, flags: ActFlags & InputFlags) => {
      const context = contextOf(flags);
      exit(await act.steer(context, id, await readSentInput(text, flags, context.terminal.folder)));
    });
  withContent(program.command("follow-up <id> <text>"))
    .description("tell a run something when it would stop: it goes on with that")
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

function addBudgets({ program, asking, contextOf, exit }: Commands): void {
  const budget = program
    .command("budget")
    .description("what all trees of the tenant, or of one of its users, may spend together");
  const whose = ["--user <user>", "of this user; else of the tenant"] as const;
  asking(budget.command("show"))
    .description("show the budget and what was used of it")
    .option(...whose)
    .action(async ({ user, ...flags }: BudgetFlags) =>
      exit(await budgets.showBudget(contextOf(flags), user)),
    );
  asking(budget.command("set"))
    .description("set the budget; open trees follow within a minute")
    .option(...whose)
    .option("--max-cost <dollars>", "at most so many dollars", amount)
    .option("--max-tokens <number>", "at most so many tokens", whole)
    .addOption(
      new Option("--per <period>", "in each day or month of UTC, or for ever")
        .choices(["day", "month", "ever"])
        .makeOptionMandatory(),
    )
    .action(async ({ user, maxCost: maxCostUsd, maxTokens, per, ...flags }: BudgetFlags, command) => {
      const limits = given({ maxCostUsd, maxTokens });
      if (Object.keys(limits).length === 0) command.error("error: how much? --max-cost or --max-tokens");
      exit(await budgets.setBudget(contextOf(flags), { ...limits, ...given({ user }), per }));
    });
  asking(budget.command("remove"))
    .description("remove the budget: nothing limits them together any more")
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

function addDeciding({ program, asking, contextOf, exit }: Commands): void {
  asking(program.command("approve <id>"))
    .description("let a call be made that waits for somebody's word")
    .option("--remember", "every further call of this tool by this run, too")
    .addHelpText("after", "\n<id> is an approval, or a tree or run in which only one call waits")
    .action(async (id: string, { remember, ...flags }: ActFlags & { readonly remember?: boolean }) =>
      exit(await act.decide(contextOf(flags), { verb: "approve", id }, given({ remember }))),
    );
  asking(program.command("edit <id>"))
    .description("let it be made with other arguments")
    .argument("<arguments>", "all of them, as JSON", json)
    .option("--reason <words>", "what the model is told")
    .action(async (id: string, edited: Json, { reason, ...flags }: ActFlags & { readonly reason?: string }) =>
      exit(
        await act.decide(contextOf(flags), { verb: "edit", id }, { arguments: edited, ...given({ reason }) }),
      ),
    );
  asking(program.command("answer <id>"))
    .description("answer a question of an agent")
    .argument("<answer>", "a text or one of the choices; the fields of a form as JSON")
    .action(async (id: string, answer: string, flags: ActFlags) =>
      exit(await act.answer(contextOf(flags), id, answer)),
    );
  asking(program.command("deny <id>"))
    .description("refuse it; the model is told so")
    .option("--reason <words>", "what the model is told")
    .action(async (id: string, { reason, ...flags }: ActFlags & { readonly reason?: string }) =>
      exit(await act.decide(contextOf(flags), { verb: "deny", id }, given({ reason }))),
    );
}
