import { Option } from "commander";
import { Priority } from "#kernel";
import type { StartBody } from "../client/reeve-client.ts";
import type { Commands } from "./commands.ts";
import type { SentInput } from "#client";
import { type InputFlags, readSentInput } from "../client/sent-input.ts";
import { amount, omitUndefined, json, collectValues, parseCount } from "./arguments.ts";

interface RunFlags extends InputFlags {
  readonly url?: string;
  readonly json?: boolean;
  readonly maxCost?: number;
  readonly maxTokens?: number;
  readonly maxTurns?: number;
  readonly maxAgents?: number;
  readonly deadline?: number;
  readonly priority?: Priority;
  readonly id?: string;
  readonly user?: string;
  readonly session?: string;
  readonly detach?: boolean;
  readonly deltas?: boolean;
  readonly cancelOnInterrupt?: boolean;
}

/** `reeve run`, `reeve chat` and `reeve watch`. */
export function addRunCommands({ program, addServerOptions, contextOf, exit }: Commands): void {
  addServerOptions(program.command("run <agent> <input>"))
    .description("start a tree and show it until it ends (Ctrl-C detaches)")
    .option("--file <path>", "attach an image, a PDF or another file; may be repeated", collectValues)
    .option("--data <json>", "attach data, as JSON", json)
    .option("--max-cost <dollars>", "maximum cost of the whole tree", amount)
    .option("--max-tokens <number>", "maximum tokens of the whole tree", parseCount)
    .option("--max-turns <number>", "maximum model calls of the root", parseCount)
    .option("--max-agents <number>", "maximum agents alive at once", parseCount)
    .option("--deadline <seconds>", "maximum duration of the tree", amount)
    .addOption(new Option("--priority <priority>", "priority of the root").choices(Priority.all))
    .option("--id <id>", "id of the tree; the same id again is the same tree")
    .option("--user <user>", "user that the tree works for")
    .option("--session <session>", "session (conversation) that this turn continues")
    .option("--detach", "print the id and exit")
    .option("--deltas", "with --json: also print answers as they are streamed")
    .option("--cancel-on-interrupt", "Ctrl-C cancels the run instead of detaching")
    .addHelpText(
      "after",
      '\nExample:\n  reeve run lead "heat pumps in Europe" --max-cost 0.50 --json | jq .type\n  reeve run lead "describe" --file photo.png --file report.pdf',
    )
    .action(async (agent: string, input: string, flags: RunFlags) => {
      const { run } = await import("../commands/run.ts");
      const { detach = false, cancelOnInterrupt = false, deltas = false } = flags;
      const options = { detach, cancelOnInterrupt, deltas };
      const context = contextOf(flags);
      const content = await readSentInput(input, flags, context.terminal.folder);
      exit(await run(context, bodyOf(agent, content, flags), options));
    });
  addServerOptions(program.command("chat <agent>"))
    .description("chat with an agent (Ctrl-C cancels an answer; at the prompt it leaves)")
    .option("--session <session>", "session to continue (default: a new one)")
    .option("--user <user>", "user of the session")
    .option("--max-cost <dollars>", "maximum cost of each answer", amount)
    .addHelpText(
      "after",
      '\nChat commands: /history, /retry, /compact, /new, /exit\nExample:\n  echo "and in Spain?" | reeve chat lead --session report',
    )
    .action(async (agent: string, { session, user, maxCost, ...flags }: RunFlags) => {
      const { chat } = await import("../commands/chat.ts");
      const budget = maxCost === undefined ? undefined : { maxCostUsd: maxCost };
      exit(await chat(contextOf(flags), { agent, ...omitUndefined({ session, user, budget }) }));
    });
  addServerOptions(program.command("watch <id>"))
    .description("watch a live tree and control it: pause, resume, top up, approve, deny, cancel")
    .action(async (id: string, flags: RunFlags) => {
      const { watchTree: watch } = await import("../commands/watch.ts");
      exit(await watch(contextOf(flags), id));
    });
}

function bodyOf(agent: string, input: SentInput, flags: RunFlags): StartBody {
  const {
    maxCost: maxCostUsd,
    maxTokens,
    maxTurns,
    maxAgents,
    deadline: deadlineS,
    priority,
    id,
    user,
    session,
  } = flags;
  const budget = omitUndefined({ maxCostUsd, maxTokens, maxTurns });
  return {
    agent,
    input,
    ...omitUndefined({ priority, id, user, session, deadlineS }),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(maxAgents !== undefined && { spawn: { maxAgents } }),
  };
}
