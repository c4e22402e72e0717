import { Command, CommanderError } from "commander";
import { findServer } from "./client/find-server.ts";
import { ReeveClient } from "./client/reeve-client.ts";
import { CliError } from "./cli-error.ts";
import { addActing } from "./program/acting.ts";
import type { Commands } from "./program/commands.ts";
import { addLooking } from "./program/looking.ts";
import { addProject } from "./program/project.ts";
import { addRunning } from "./program/running.ts";
import { ExitCode } from "./exit-code.ts";
import { paintOf, type Terminal } from "./terminal.ts";
import { clean } from "./text/width.ts";

const exitCodes = `
Exit codes:
  0  done; a run completed        5  refused: no permission, too late, already done
  1  something unforeseen         6  the audit chain is broken
  2  not understood              10  the run landed (met a limit, handed back what it had)
  3  no server answers           11  the run failed
  4  no such run or agent        12  the run was cancelled
                                130  detached by Ctrl-C; the run goes on`;

const examples = `
Examples:
  reeve init demo                      a project that runs at once, without a key
  reeve dev agents.ts                  Restate, store, worker and server on this machine
  reeve run boss "Who built the mill?" --max-cost 0.50
  reeve runs --status waiting
  reeve why <id>                       why it stopped or waits, in words
  reeve approve <id>`;

/** The command line. Resolves with the exit code; writes to the terminal and nothing else. */
export async function main(words: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode: number = ExitCode.ok;
  const program = programFor(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    return tell(terminal, error, words.includes("--json"));
  }
}

function programFor(terminal: Terminal, exit: (code: number) => void): Command {
  const program = new Command("reeve");
  program
    .description("Agents that hire agents, with a boss, a budget and a journal")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out.write(text),
      writeErr: (text) => terminal.errors.write(text),
      getOutHelpWidth: () => terminal.out.columns,
      getErrHelpWidth: () => terminal.errors.columns,
    })
    .showHelpAfterError("(see --help)")
    .addHelpText("after", examples)
    .addHelpText("after", exitCodes);
  const commands: Commands = {
    program,
    terminal,
    exit,
    asking: (command) =>
      command
        .option("--json", "one JSON object, or one on each line")
        .option("--url <url>", "the server (default: REEVE_URL, else the `reeve dev` of this folder)"),
    contextOf: ({ url, json = false }) => ({
      terminal,
      json,
      client: new ReeveClient(findServer(url, terminal.environment, terminal.folder)),
    }),
  };
  for (const add of [addProject, addRunning, addLooking, addActing]) add(commands);
  return program;
}

function tell(terminal: Terminal, error: unknown, json: boolean): number {
  const { errors } = terminal;
  const known = error instanceof CliError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const code = known?.code ?? "failure";
  if (json) errors.write(`${JSON.stringify({ error: { code, message, hint: known?.hint ?? null } })}\n`);
  else {
    const paint = paintOf(terminal, errors);
    errors.write(`${paint("bad", "reeve:")} ${clean(message)}\n`);
    if (known?.hint) errors.write(paint("faint", `  → ${known.hint}\n`));
    if (!known && terminal.environment["REEVE_DEBUG"] && error instanceof Error)
      errors.write(`${error.stack}\n`);
  }
  return known?.exitCode ?? ExitCode.failure;
}
