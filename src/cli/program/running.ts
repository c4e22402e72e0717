import { Option } from "commander";
import { Priority } from "#kernel";
import type { StartBody } from "../client/reeve-client.ts";
import type { Commands } from "./commands.ts";
import { amount, given, whole } from "./arguments.ts";

interface RunFlags {
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

/** `reeve run` and `reeve watch`. */
export function addRunning({ program, asking, contextOf, exit }: Commands): void {
  asking(program.command("run <agent> <input>"))
    .description("start a tree and show it until it is over (Ctrl-C detaches)")
    .option("--max-cost <dollars>", "what the whole tree may spend", amount)
    .option("--max-tokens <number>", "tokens of the whole tree", whole)
    .option("--max-turns <number>", "model calls of the root", whole)
    .option("--max-agents <number>", "agents alive at once", whole)
    .option("--deadline <seconds>", "how long the tree may take", amount)
    .addOption(new Option("--priority <priority>", "how important it is").choices(Priority.all))
    .option("--id <id>", "names the tree: the same id again is the same tree")
    .option("--user <user>", "for whom it works")
    .option("--session <session>", "the conversation it is a turn of")
    .option("--detach", "print the id and leave")
    .option("--deltas", "with --json: pieces of answers, too, as they are given")
    .option("--cancel-on-interrupt", "Ctrl-C cancels the run instead of detaching")
    .addHelpText(
      "after",
      '\nExample:\n  reeve run boss "Who built the mill?" --max-cost 0.50 --json | jq .type',
    )
    .action(async (agent: string, input: string, flags: RunFlags) => {
      const { run } = await import("../commands/run.ts");
      const { detach = false, cancelOnInterrupt = false, deltas = false } = flags;
      const options = { detach, cancelOnInterrupt, deltas };
      exit(await run(contextOf(flags), bodyOf(agent, input, flags), options));
    });
  asking(program.command("watch <id>"))
    .description("a live tree: watch it, pause, resume, top up, approve, deny, cancel")
    .action(async (id: string, flags: RunFlags) => {
      const { watch } = await import("../commands/watch.ts");
      exit(await watch(contextOf(flags), id));
    });
}

function bodyOf(agent: string, input: string, flags: RunFlags): StartBody {
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
  const budget = given({ maxCostUsd, maxTokens, maxTurns });
  return {
    agent,
    input,
    ...given({ priority, id, user, session, deadlineS }),
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(maxAgents !== undefined && { spawn: { maxAgents } }),
  };
}
